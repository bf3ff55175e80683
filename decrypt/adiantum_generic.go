package decrypt

import (
	"encfs/decrypt/internal/nh"
	"encfs/decrypt/internal/poly1305"
)

// adiantumGeneric are the parts of Adiantum in Go.
type adiantumGeneric struct{ keys *adiantumKeys }

func newAdiantumGeneric(key []byte) (Cipher, error) {
	return newAdiantum(key, new(adiantumGeneric), newAES256Sliced)
}

func (c *adiantumGeneric) setKeys(k *adiantumKeys) { c.keys = k }

func (c *adiantumGeneric) hashTweak(iv []byte, n int) block { return c.keys.hashTweak(iv, n) }

func (c *adiantumGeneric) hashMessage(message []byte) block {
	var s poly1305.State
	for len(message) >= nh.PieceSize {
		sum := c.keys.nh.Sum(message[:nh.PieceSize])
		s.Write(&c.keys.message, sum[:])
		message = message[nh.PieceSize:]
	}
	if n := len(message); n > 0 {
		var last [nh.PieceSize]byte
		copy(last[:], message)
		sum := c.keys.nh.Sum(last[:(n+nh.Granule-1)/nh.Granule*nh.Granule])
		s.Write(&c.keys.message, sum[:])
	}
	lo, hi := s.Sum()
	return block{lo, hi}
}

func (c *adiantumGeneric) xorKeyStream(dst, src []byte, cm block) {
	nonce := adiantumNonce(cm)
	c.keys.stream.XORKeyStream(dst, src, &nonce)
}
