package decrypt

import (
	"encoding/binary"
	"fmt"

	"encfs/decrypt/internal/nh"
	"encfs/decrypt/internal/poly1305"
	"encfs/decrypt/internal/xchacha"
)

const (
	adiantumKeySize = 32
	adiantumIVSize  = 32
)

// checkAdiantum panics unless dst, src and iv suit adiantum(xchacha12,aes).
func checkAdiantum(dst, src, iv []byte) { checkUnit(dst, src, iv, 1, adiantumIVSize) }

// adiantum is Adiantum with XChaCha12 and AES-256 of "Adiantum: length-preserving
// encryption for entry-level processors" (Crowley and Biggers, 2018). The tweak of
// that paper is the IV.
//
// The last block of the data and what comes before it are PR and PL in the
// plaintext, CR and CL in the ciphertext.
type adiantum struct {
	keys *adiantumKeys
	adiantumParts
}

// adiantumParts are the parts of Adiantum in which its drivers differ. They allocate
// nothing and, once they have their keys, are safe for concurrent use.
type adiantumParts interface {
	// setKeys precedes all other calls.
	setKeys(k *adiantumKeys)

	// hashTweak returns the hash of the tweak, which is the IV, and of the length n of
	// the message, in bytes.
	hashTweak(iv []byte, n int) block

	// hashMessage returns the hash of the message, which has any length:
	// Poly1305 over the NH values of its pieces. A message that does not fill its
	// last granule is padded with zeros.
	hashMessage(message []byte) block

	// xorKeyStream sets dst to src xor the key stream for the encrypted block cm.
	// dst and src have the same length, any, and overlap entirely or not at all.
	xorKeyStream(dst, src []byte, cm block)
}

// newAdiantum returns a Cipher of these parts, whose keys it sets. It takes a key of
// 32 bytes and keeps no reference to it.
func newAdiantum(key []byte, parts adiantumParts, aes func(key []byte) aes256) (Cipher, error) {
	k, err := newAdiantumKeys(key, aes)
	if err != nil {
		return nil, err
	}
	parts.setKeys(k)
	return &adiantum{k, parts}, nil
}

func (c *adiantum) Encrypt(dst, src, iv []byte) {
	checkAdiantum(dst, src, iv)
	left := len(src) - blockSize
	message := c.hashMessage(src[:left])
	tweak := c.hashTweak(iv, left)
	pm := loadBlock(src[left:]).add(message).add(tweak)
	cm := c.keys.block.encryptBlock(pm, dst[left:])
	c.xorKeyStream(dst[:left], src[:left], cm)
	cm.sub(tweak).sub(c.hashMessage(dst[:left])).store(dst[left:])
}

func (c *adiantum) Decrypt(dst, src, iv []byte) {
	checkAdiantum(dst, src, iv)
	left := len(src) - blockSize
	message := c.hashMessage(src[:left])
	tweak := c.hashTweak(iv, left)
	cm := loadBlock(src[left:]).add(message).add(tweak)
	pm := c.keys.block.decryptBlock(cm, dst[left:])
	c.xorKeyStream(dst[:left], src[:left], cm)
	pm.sub(tweak).sub(c.hashMessage(dst[:left])).store(dst[left:])
}

// adiantumKeys are the keys of Adiantum's parts. Only stream is the key that the
// user has; its key stream provides the others.
type adiantumKeys struct {
	stream  xchacha.Key // XChaCha12
	block   aes256
	tweak   poly1305.Key // hash of the tweak
	message poly1305.Key // second stage of the hash of the message
	nh      nh.Key       // first stage
}

// newAdiantumKeys takes a key of 32 bytes and keeps no reference to it.
func newAdiantumKeys(key []byte, aes func(key []byte) aes256) (*adiantumKeys, error) {
	if len(key) != adiantumKeySize {
		return nil, fmt.Errorf("decrypt: adiantum(xchacha12,aes): %w: %d bytes", ErrKeySize, len(key))
	}
	k := new(adiantumKeys)
	k.stream.SetBytes(key)

	stream := make([]byte, 32+2*poly1305.KeySize+nh.KeySize)
	defer clear(stream)
	k.stream.XORKeyStream(stream, stream, &[xchacha.NonceSize]byte{1})

	k.block = aes(stream[:32])
	k.tweak.SetBytes(stream[32:48])
	k.message.SetBytes(stream[48:64])
	k.nh.SetBytes(stream[64:])
	return k, nil
}

// hashTweak returns the hash of the tweak and of the length n of the message, in
// bytes.
func (k *adiantumKeys) hashTweak(iv []byte, n int) block {
	length := block{lo: 8 * uint64(n)}.bytes()
	var s poly1305.State
	s.Write(&k.tweak, length[:])
	s.Write(&k.tweak, iv)
	lo, hi := s.Sum()
	return block{lo, hi}
}

// adiantumNonce returns the nonce of XChaCha12 for the encrypted block cm. The one
// in it keeps it apart from the nonce that the keys were derived with.
func adiantumNonce(cm block) (nonce [xchacha.NonceSize]byte) {
	cm.store(nonce[:])
	binary.LittleEndian.PutUint64(nonce[blockSize:], 1)
	return nonce
}
