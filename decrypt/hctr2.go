package decrypt

import (
	"fmt"

	"encfs/decrypt/internal/polyval"
)

const (
	hctr2KeySize = 32
	hctr2IVSize  = 32
)

// hctr2 is HCTR2 with AES-256 of "Length-preserving encryption with HCTR2" (Crowley,
// Huckleberry and Biggers, 2021). The tweak of that paper is the IV.
//
// The first block of the data and the rest of it are M and N in the plaintext, U
// and V in the ciphertext.
type hctr2 struct {
	hctr2Parts
	l block // L: the encrypted number 1

	// The states of the hash before the tweak, for messages that end with a whole
	// block and for others. The block in front says which, and how long the tweak is.
	whole, padded polyval.Element
}

// hctr2Parts are the parts of HCTR2, in which its drivers differ. They allocate
// nothing and, once they have their keys, are safe for concurrent use. scratch is as
// with aes256.
type hctr2Parts interface {
	// setKey precedes all other calls. key has 32 bytes; no reference to it is kept.
	setKey(key []byte)
	aes256

	// setHashKey is next. h is the key of the hash.
	setHashKey(h polyval.Element)

	// update returns the state of the hash that follows s when data, a multiple of 16
	// bytes, is hashed. updateBlock does it for a single block.
	update(s polyval.Element, data []byte) polyval.Element
	updateBlock(s polyval.Element, x block) polyval.Element

	// xctr sets dst to src xor the key stream whose block i, counted from 1, is the
	// encrypted number i xor s. dst and src have the same length, any, and overlap
	// entirely or not at all.
	xctr(dst, src []byte, s block, scratch []byte)
}

// newHCTR2 returns a Cipher of these parts, whose keys it sets. It takes a key of 32
// bytes and keeps no reference to it.
func newHCTR2(key []byte, parts hctr2Parts) (Cipher, error) {
	if len(key) != hctr2KeySize {
		return nil, fmt.Errorf("decrypt: hctr2(aes): %w: %d bytes", ErrKeySize, len(key))
	}
	scratch := make([]byte, blockSize)
	defer clear(scratch)
	parts.setKey(key)
	h := parts.encryptBlock(block{}, scratch)
	parts.setHashKey(polyval.Element{Lo: h.lo, Hi: h.hi})
	const length = 2*8*hctr2IVSize + 2
	return &hctr2{
		hctr2Parts: parts,
		l:          parts.encryptBlock(block{lo: 1}, scratch),
		whole:      parts.updateBlock(polyval.Element{}, block{lo: length}),
		padded:     parts.updateBlock(polyval.Element{}, block{lo: length + 1}),
	}, nil
}

func (c *hctr2) Encrypt(dst, src, iv []byte) {
	checkUnit(dst, src, iv, 1, hctr2IVSize)
	m := loadBlock(src)
	tweak := c.hashTweak(iv, len(src)-blockSize)
	mm := m.xor(c.sum(tweak, src[blockSize:]))
	uu := c.encryptBlock(mm, dst)
	c.xctr(dst[blockSize:], src[blockSize:], mm.xor(uu).xor(c.l), dst)
	uu.xor(c.sum(tweak, dst[blockSize:])).store(dst)
}

func (c *hctr2) Decrypt(dst, src, iv []byte) {
	checkUnit(dst, src, iv, 1, hctr2IVSize)
	u := loadBlock(src)
	tweak := c.hashTweak(iv, len(src)-blockSize)
	uu := u.xor(c.sum(tweak, src[blockSize:]))
	mm := c.decryptBlock(uu, dst)
	c.xctr(dst[blockSize:], src[blockSize:], mm.xor(uu).xor(c.l), dst)
	mm.xor(c.sum(tweak, dst[blockSize:])).store(dst)
}

// hashTweak returns the state of the hash after the tweak, for a message of n bytes.
func (c *hctr2) hashTweak(iv []byte, n int) polyval.Element {
	if n%blockSize != 0 {
		return c.update(c.padded, iv)
	}
	return c.update(c.whole, iv)
}

// sum returns the hash of a message, given the state after the tweak. A message
// that does not end with a whole block is padded with a one and zeros.
func (c *hctr2) sum(s polyval.Element, message []byte) block {
	whole := len(message) / blockSize * blockSize
	s = c.update(s, message[:whole])
	if whole < len(message) {
		var last [blockSize]byte
		n := copy(last[:], message[whole:])
		last[n] = 1
		s = c.updateBlock(s, loadBlock(last[:]))
	}
	return block{s.Lo, s.Hi}
}
