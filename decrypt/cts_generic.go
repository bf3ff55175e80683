package decrypt

import (
	"crypto/aes"
	"crypto/cipher"
)

// ctsGeneric is CBC with ciphertext stealing in the variant of RFC 3962, known as
// CBC-CS3, with any block cipher of 16 bytes: the last two blocks are exchanged
// always, also where the data is a multiple of 16 bytes. A single block is plain
// CBC.
type ctsGeneric struct{ block cipher.Block }

// newCTSGeneric takes a key of 16 or 32 bytes and keeps no reference to it.
func newCTSGeneric(key []byte) (Cipher, error) {
	if err := checkCTSKey(key); err != nil {
		return nil, err
	}
	b, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return &ctsGeneric{b}, nil
}

// In both directions the data is a head of plain CBC blocks, one more block at
// [head:head+16], and a tail of 1 to 16 bytes. In the plaintext the block and
// the tail are P[m-1] and P[m]; in the ciphertext they are C[m] and the first
// bytes of C[m-1].

func (c *ctsGeneric) Encrypt(dst, src, iv []byte) {
	checkCTS(dst, src, iv)
	prev := loadBlock(iv)
	if len(src) == blockSize {
		cbcEncrypt(c.block, dst, src, prev)
		return
	}
	head := ctsHead(len(src))
	var last [blockSize]byte // P[m], padded with zeros
	copy(last[:], src[head+blockSize:])
	x := cbcEncrypt(c.block, dst[:head+blockSize], src[:head+blockSize], prev) // C[m-1]
	stolen := x.bytes()
	copy(dst[head+blockSize:], stolen[:])
	loadBlock(last[:]).xor(x).encrypt(c.block, dst[head:]).store(dst[head:])
}

func (c *ctsGeneric) Decrypt(dst, src, iv []byte) {
	checkCTS(dst, src, iv)
	prev := loadBlock(iv)
	if len(src) == blockSize {
		cbcDecrypt(c.block, dst, src, prev)
		return
	}
	head := ctsHead(len(src))
	prev = cbcDecrypt(c.block, dst[:head], src[:head], prev) // C[m-2] or iv
	// AES⁻¹(C[m]) = C[m-1] xor padded P[m]: its end is the part of C[m-1] that
	// was not stored.
	x := loadBlock(src[head:]).decrypt(c.block, dst[head:]).bytes()
	for i, b := range src[head+blockSize:] {
		dst[head+blockSize+i] = x[i] ^ b
		x[i] = b
	}
	loadBlock(x[:]).decrypt(c.block, dst[head:]).xor(prev).store(dst[head:])
}

// ctsHead returns the length of the data that comes before the last two blocks,
// for n > 16 bytes of data.
func ctsHead(n int) int { return (n - blockSize - 1) / blockSize * blockSize }
