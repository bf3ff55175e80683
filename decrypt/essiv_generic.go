package decrypt

import (
	"crypto/aes"
	"crypto/cipher"
)

// essivGeneric is AES-128-CBC whose IV is the given one encrypted with AES-256
// under the SHA-256 of the key: crypto/essiv.c in the kernel.
type essivGeneric struct{ data, iv cipher.Block }

// newESSIVGeneric takes a key of 16 bytes and keeps no reference to it.
func newESSIVGeneric(key []byte) (Cipher, error) {
	salt, err := essivSalt(key)
	if err != nil {
		return nil, err
	}
	defer clear(salt[:])
	data, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	iv, err := aes.NewCipher(salt[:])
	if err != nil {
		return nil, err
	}
	return &essivGeneric{data, iv}, nil
}

func (c *essivGeneric) Encrypt(dst, src, iv []byte) {
	checkESSIV(dst, src, iv)
	cbcEncrypt(c.data, dst, src, c.encryptIV(dst, src, iv))
}

func (c *essivGeneric) Decrypt(dst, src, iv []byte) {
	checkESSIV(dst, src, iv)
	cbcDecrypt(c.data, dst, src, c.encryptIV(dst, src, iv))
}

// encryptIV returns the IV for CBC. It uses the first block of dst as scratch and
// leaves src's there, as the two may be the same.
func (c *essivGeneric) encryptIV(dst, src, iv []byte) block {
	first := loadBlock(src)
	x := loadBlock(iv).encrypt(c.iv, dst)
	first.store(dst)
	return x
}
