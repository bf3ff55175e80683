package decrypt

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

const (
	speckRounds  = 34
	speckKeySize = 32
)

// speck is Speck128/256 of "The SIMON and SPECK families of lightweight block
// ciphers" (Beaulieu and others, 2013): a block cipher of 16 bytes with a key of
// 32. Linux 4.18 and 4.19 had it in fscrypt. It was withdrawn before files under
// it were seen, no mode of package keys names it, and it is here to be measured
// beside Adiantum, which took its place.
//
// Words are little-endian and the right one of a pair comes first in memory, as
// in crypto/speck.c of those kernels.
type speck struct{ keys [speckRounds]uint64 }

// newSpeck takes a key of 32 bytes and keeps no reference to it.
func newSpeck(key []byte) *speck {
	c := new(speck)
	k := binary.LittleEndian.Uint64(key)
	l := [3]uint64{
		binary.LittleEndian.Uint64(key[8:]),
		binary.LittleEndian.Uint64(key[16:]),
		binary.LittleEndian.Uint64(key[24:]),
	}
	for i := range c.keys {
		c.keys[i] = k
		l[i%3], k = speckRound(l[i%3], k, uint64(i))
	}
	return c
}

// speckRound is a round of encryption and, with the round's number for a key, a
// step of the key schedule.
func speckRound(x, y, key uint64) (uint64, uint64) {
	x = (bits.RotateLeft64(x, -8) + y) ^ key
	return x, bits.RotateLeft64(y, 3) ^ x
}

// BlockSize returns 16.
func (c *speck) BlockSize() int { return blockSize }

// Encrypt encrypts the first 16 bytes of src to dst, which may be the same.
func (c *speck) Encrypt(dst, src []byte) {
	b := loadBlock(src)
	x, y := b.hi, b.lo
	for _, k := range &c.keys {
		x, y = speckRound(x, y, k)
	}
	block{lo: y, hi: x}.store(dst)
}

// Decrypt is the inverse of Encrypt.
func (c *speck) Decrypt(dst, src []byte) {
	b := loadBlock(src)
	x, y := b.hi, b.lo
	for i := len(c.keys) - 1; i >= 0; i-- {
		y = bits.RotateLeft64(y^x, -3)
		x = bits.RotateLeft64((x^c.keys[i])-y, 8)
	}
	block{lo: y, hi: x}.store(dst)
}

// newXTSSpeck takes a key of 64 bytes, the data key before the tweak key.
func newXTSSpeck(key []byte) (Cipher, error) {
	if len(key) != 2*speckKeySize {
		return nil, fmt.Errorf("decrypt: xts(speck128): %w: %d bytes", ErrKeySize, len(key))
	}
	return &xtsGeneric{newSpeck(key[:speckKeySize]), newSpeck(key[speckKeySize:])}, nil
}

// newCTSSpeck takes a key of 32 bytes.
func newCTSSpeck(key []byte) (Cipher, error) {
	if len(key) != speckKeySize {
		return nil, fmt.Errorf("decrypt: cts(cbc(speck128)): %w: %d bytes", ErrKeySize, len(key))
	}
	return &ctsGeneric{newSpeck(key)}, nil
}
