package decrypt

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"

	"encfs/decrypt/internal/polyval"
)

// hctr2Generic is HCTR2 with AES-256 of "Length-preserving encryption with HCTR2"
// (Crowley, Huckleberry and Biggers, 2021). The tweak of that paper is the IV.
//
// The first block of the data and the rest of it are M and N in the plaintext, U
// and V in the ciphertext.
type hctr2Generic struct {
	block cipher.Block
	hash  polyval.Element // h, key of the hash: the encrypted number 0
	l     block           // L: the encrypted number 1
}

// newHCTR2Generic takes a key of 32 bytes and keeps no reference to it.
func newHCTR2Generic(key []byte) (Cipher, error) {
	if err := checkHCTR2Key(key); err != nil {
		return nil, err
	}
	b, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	scratch := make([]byte, blockSize)
	h := block{}.encrypt(b, scratch)
	l := block{lo: 1}.encrypt(b, scratch)
	clear(scratch)
	return &hctr2Generic{b, polyval.Element{Lo: h.lo, Hi: h.hi}, l}, nil
}

func (c *hctr2Generic) Encrypt(dst, src, iv []byte) {
	checkHCTR2(dst, src, iv)
	m := loadBlock(src)
	tweak := c.hashTweak(iv, len(src)-blockSize)
	mm := m.xor(c.sum(tweak, src[blockSize:]))
	uu := mm.encrypt(c.block, dst)
	xctr(c.block, dst[blockSize:], src[blockSize:], mm.xor(uu).xor(c.l), dst)
	uu.xor(c.sum(tweak, dst[blockSize:])).store(dst)
}

func (c *hctr2Generic) Decrypt(dst, src, iv []byte) {
	checkHCTR2(dst, src, iv)
	u := loadBlock(src)
	tweak := c.hashTweak(iv, len(src)-blockSize)
	uu := u.xor(c.sum(tweak, src[blockSize:]))
	mm := uu.decrypt(c.block, dst)
	xctr(c.block, dst[blockSize:], src[blockSize:], mm.xor(uu).xor(c.l), dst)
	mm.xor(c.sum(tweak, dst[blockSize:])).store(dst)
}

// hashTweak returns the state of the hash after the tweak, for a message of n
// bytes. The block before the tweak says how long that is and whether the
// message will be padded.
func (c *hctr2Generic) hashTweak(iv []byte, n int) polyval.Element {
	first := block{lo: 2*8*hctr2IVSize + 2}
	if n%blockSize != 0 {
		first.lo++
	}
	b := first.bytes()
	return polyval.Element{}.Update(c.hash, b[:]).Update(c.hash, iv)
}

// sum returns the hash of a message, given the state after the tweak. A message
// that does not end with a whole block is padded with a one and zeros.
func (c *hctr2Generic) sum(s polyval.Element, message []byte) block {
	whole := len(message) / blockSize * blockSize
	s = s.Update(c.hash, message[:whole])
	if whole < len(message) {
		var last [blockSize]byte
		n := copy(last[:], message[whole:])
		last[n] = 1
		s = s.Update(c.hash, last[:])
	}
	return block{s.Lo, s.Hi}
}

// xctr sets dst to src xor the key stream whose block i, counted from 1, is the
// encrypted number i xor s. It uses the first 16 bytes of scratch.
func xctr(c cipher.Block, dst, src []byte, s block, scratch []byte) {
	for i := uint64(1); len(src) > 0; i++ {
		stream := s.xor(block{lo: i}).encrypt(c, scratch).bytes()
		n := subtle.XORBytes(dst, src, stream[:])
		dst, src = dst[n:], src[n:]
	}
}
