//go:build !purego && (amd64 || arm64)

package decrypt

import (
	"crypto/subtle"

	"encfs/decrypt/internal/polyval"
)

// xctrAsm sets n bytes at dst to those at src xor the key stream whose block i,
// counted from 1, is the encrypted number i xor the block lo, hi. n is a multiple of
// 16. dst and src overlap entirely or not at all. Needs AES.
//
//go:noescape
func xctrAsm(enc *roundKeys, dst, src *byte, n int, lo, hi uint64)

// polyvalMulAsm returns the element lo, hi times h, divided by x^128. Needs
// PCLMULQDQ or PMULL.
//
//go:noescape
func polyvalMulAsm(h *polyval.Element, lo, hi uint64) (outLo, outHi uint64)

// polyvalAsm makes state what it is after the n bytes of data, n a positive multiple
// of 16. powers has the powers of the key by polyvalMulAsm from the 8th down to the
// key itself. Needs PCLMULQDQ or
// PMULL.
//
//go:noescape
func polyvalAsm(state *polyval.Element, powers *[8]polyval.Element, data *byte, n int)

// hctr2Asm are the parts of HCTR2 with instructions for AES and for carry-less
// products.
type hctr2Asm struct {
	aes256Asm
	powers [8]polyval.Element // as polyvalAsm takes them
}

func newHCTR2Asm(key []byte) (Cipher, error) { return newHCTR2(key, new(hctr2Asm)) }

func (c *hctr2Asm) setHashKey(h polyval.Element) {
	p := &c.powers
	p[len(p)-1] = h
	for i := len(p) - 2; i >= 0; i-- {
		p[i].Lo, p[i].Hi = polyvalMulAsm(&h, p[i+1].Lo, p[i+1].Hi)
	}
}

func (c *hctr2Asm) update(s polyval.Element, data []byte) polyval.Element {
	if len(data) > 0 {
		polyvalAsm(&s, &c.powers, &data[0], len(data))
	}
	return s
}

func (c *hctr2Asm) updateBlock(s polyval.Element, x block) polyval.Element {
	lo, hi := polyvalMulAsm(&c.powers[len(c.powers)-1], s.Lo^x.lo, s.Hi^x.hi)
	return polyval.Element{Lo: lo, Hi: hi}
}

func (c *hctr2Asm) xctr(dst, src []byte, s block, _ []byte) {
	whole := len(src) / blockSize * blockSize
	if whole > 0 {
		xctrAsm(&c.enc, &dst[0], &src[0], whole, s.lo, s.hi)
	}
	if whole < len(src) {
		stream := c.encryptBlock(s.xor(block{lo: uint64(whole/blockSize) + 1}), nil).bytes()
		subtle.XORBytes(dst[whole:], src[whole:], stream[:])
	}
}
