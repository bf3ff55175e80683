package decrypt

import (
	"encfs/decrypt/internal/nh"
	"encfs/decrypt/internal/poly1305"
)

// adiantumGeneric is Adiantum with XChaCha12 and AES-256 of "Adiantum:
// length-preserving encryption for entry-level processors" (Crowley and Biggers,
// 2018). The tweak of that paper is the IV.
//
// The last block of the data and what comes before it are PR and PL in the
// plaintext, CR and CL in the ciphertext.
type adiantumGeneric struct{ keys *adiantumKeys }

// newAdiantumGeneric takes a key of 32 bytes and keeps no reference to it.
func newAdiantumGeneric(key []byte) (Cipher, error) {
	k, err := newAdiantumKeys(key)
	if err != nil {
		return nil, err
	}
	return &adiantumGeneric{k}, nil
}

func (c *adiantumGeneric) Encrypt(dst, src, iv []byte) {
	checkAdiantum(dst, src, iv)
	left := len(src) - blockSize
	tweak := c.keys.hashTweak(iv, left)
	pm := loadBlock(src[left:]).add(tweak).add(c.hashMessage(src[:left]))
	cm := pm.encrypt(c.keys.block, dst[left:])
	nonce := adiantumNonce(cm)
	c.keys.stream.XORKeyStream(dst[:left], src[:left], &nonce)
	cm.sub(tweak).sub(c.hashMessage(dst[:left])).store(dst[left:])
}

func (c *adiantumGeneric) Decrypt(dst, src, iv []byte) {
	checkAdiantum(dst, src, iv)
	left := len(src) - blockSize
	tweak := c.keys.hashTweak(iv, left)
	cm := loadBlock(src[left:]).add(tweak).add(c.hashMessage(src[:left]))
	pm := cm.decrypt(c.keys.block, dst[left:])
	nonce := adiantumNonce(cm)
	c.keys.stream.XORKeyStream(dst[:left], src[:left], &nonce)
	pm.sub(tweak).sub(c.hashMessage(dst[:left])).store(dst[left:])
}

// hashMessage returns the hash of the message: Poly1305 over the NH values of its
// pieces. A message that does not fill its last granule is padded with zeros.
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
