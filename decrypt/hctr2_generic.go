package decrypt

import (
	"crypto/aes"
	"crypto/subtle"

	"encfs/decrypt/internal/polyval"
)

// hctr2Generic are the parts of HCTR2 in Go.
type hctr2Generic struct {
	aes256Block
	h polyval.Element
}

func newHCTR2Generic(key []byte) (Cipher, error) { return newHCTR2(key, new(hctr2Generic)) }

func (c *hctr2Generic) setKey(key []byte) {
	b, err := aes.NewCipher(key)
	if err != nil {
		panic("decrypt: " + err.Error())
	}
	c.aes256Block = aes256Block{b}
}

func (c *hctr2Generic) setHashKey(h polyval.Element) { c.h = h }

func (c *hctr2Generic) update(s polyval.Element, data []byte) polyval.Element {
	return s.Update(c.h, data)
}

func (c *hctr2Generic) updateBlock(s polyval.Element, x block) polyval.Element {
	b := x.bytes()
	return s.Update(c.h, b[:])
}

func (c *hctr2Generic) xctr(dst, src []byte, s block, scratch []byte) {
	for i := uint64(1); len(src) > 0; i++ {
		stream := c.encryptBlock(s.xor(block{lo: i}), scratch).bytes()
		n := subtle.XORBytes(dst, src, stream[:])
		dst, src = dst[n:], src[n:]
	}
}
