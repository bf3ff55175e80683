package decrypt

import (
	"errors"
	"fmt"
	"sync"

	"encfs/keys"
)

const (
	maxIVSize    = 32 // the greatest IVSize of a mode, in bytes
	unitsPerCall = 32 // how many data units a cipher gets at once, at most
)

// ErrAlgorithm means that a driver is not one for the mode of a key.
var ErrAlgorithm = errors.New("driver of another algorithm")

// Contents encrypts and decrypts the data units of one inode. It is safe for
// concurrent use.
type Contents struct {
	cipher   UnitsCipher
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
	ivSize := k.Mode().IVSize()
	return &Contents{cipher: unitsOf(c, ivSize), key: k, unitSize: unitSize, ivSize: ivSize}, nil
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
	c.transform(c.cipher.DecryptUnits, dst, src, first)
}

// EncryptUnits is the inverse of DecryptUnits and takes the same arguments.
func (c *Contents) EncryptUnits(dst, src []byte, first uint64) {
	c.transform(c.cipher.EncryptUnits, dst, src, first)
}

// ivs keeps buffers for IVs, which passing to a cipher would otherwise allocate
// at each call.
var ivs = sync.Pool{New: func() any { return new([unitsPerCall * maxIVSize]byte) }}

// transform has units, a method of the cipher, process the data some units at a
// time.
func (c *Contents) transform(units func(dst, src []byte, unitSize int, ivs []byte), dst, src []byte, first uint64) {
	checkBuffers(dst, src)
	if len(src)%blockSize != 0 {
		panic(fmt.Sprintf("decrypt: data units of %d bytes in all", len(src)))
	}
	buf := ivs.Get().(*[unitsPerCall * maxIVSize]byte)
	used := 0
	for unit := first; len(src) > 0; {
		n := min(len(src), unitsPerCall*c.unitSize)
		end := 0
		for i := 0; i < n; i += c.unitSize {
			c.key.PutIV(buf[end:end+c.ivSize], unit)
			end += c.ivSize
			unit++
		}
		units(dst[:n], src[:n], c.unitSize, buf[:end])
		dst, src = dst[n:], src[n:]
		used = max(used, end)
	}
	clear(buf[:used])
	ivs.Put(buf)
}
