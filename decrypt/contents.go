package decrypt

import (
	"errors"
	"fmt"
	"sync"

	"encfs/keys"
)

// maxIVSize is the greatest IVSize of a mode, in bytes.
const maxIVSize = 32

// ErrAlgorithm means that a driver is not one for the mode of a key.
var ErrAlgorithm = errors.New("driver of another algorithm")

// Contents encrypts and decrypts the data units of one inode. It is safe for
// concurrent use.
type Contents struct {
	cipher   Cipher
	key      *keys.FileKey // for its IVs
	unitSize int
	ivSize   int
}

// NewContents returns the Contents of the inode that k is the key of, with the
// cipher of d. unitSize is the size of a data unit in bytes, a positive multiple
// of 16. The Contents keeps k for its IVs; the key in it is no longer needed, and
// the caller should wipe it.
//
// A driver of another algorithm than that of k's mode is an ErrAlgorithm.
func NewContents(k *keys.FileKey, d Driver, unitSize int) (*Contents, error) {
	if unitSize <= 0 || unitSize%blockSize != 0 {
		panic(fmt.Sprintf("decrypt: data units of %d bytes", unitSize))
	}
	c, err := newCipher(k, d)
	if err != nil {
		return nil, err
	}
	return &Contents{cipher: c, key: k, unitSize: unitSize, ivSize: k.Mode().IVSize()}, nil
}

// newCipher returns d's cipher with the key k.
func newCipher(k *keys.FileKey, d Driver) (Cipher, error) {
	if d.Algorithm != k.Mode().Algorithm() {
		return nil, fmt.Errorf("decrypt: %s for %v: %w", d.Name, k.Mode(), ErrAlgorithm)
	}
	return d.New(k.Key())
}

// UnitSize returns the size of a data unit in bytes.
func (c *Contents) UnitSize() int { return c.unitSize }

// DecryptUnits decrypts data units from src to dst, the first of which is number
// first in the file, counted from 0. dst and src have the same length and
// overlap entirely or not at all. They hold whole data units, except that the
// last or only one may be shorter if it still is a positive multiple of 16 bytes;
// it is then a unit of that length, as which EncryptUnits must have encrypted
// it. No data at all is no mistake.
//
// It does not authenticate: a wrong key or damaged ciphertext gives garbage, not
// an error. It allocates nothing.
//
// For whole units it does what fscrypt_decrypt_pagecache_blocks does in
// fs/crypto/crypto.c. A kernel has no shorter ones.
func (c *Contents) DecryptUnits(dst, src []byte, first uint64) {
	c.eachUnit(c.cipher.Decrypt, dst, src, first)
}

// EncryptUnits is the inverse of DecryptUnits and takes the same arguments.
func (c *Contents) EncryptUnits(dst, src []byte, first uint64) {
	c.eachUnit(c.cipher.Encrypt, dst, src, first)
}

// ivs keeps buffers for IVs, which passing to a Cipher would otherwise allocate
// at each call.
var ivs = sync.Pool{New: func() any { return new([maxIVSize]byte) }}

func (c *Contents) eachUnit(transform func(dst, src, iv []byte), dst, src []byte, first uint64) {
	checkBuffers(dst, src)
	if len(src)%blockSize != 0 {
		panic(fmt.Sprintf("decrypt: data units of %d bytes in all", len(src)))
	}
	buf := ivs.Get().(*[maxIVSize]byte)
	iv := buf[:c.ivSize]
	for unit := first; len(src) > 0; unit++ {
		n := min(len(src), c.unitSize)
		c.key.PutIV(iv, unit)
		transform(dst[:n], src[:n], iv)
		dst, src = dst[n:], src[n:]
	}
	clear(buf[:])
	ivs.Put(buf)
}
