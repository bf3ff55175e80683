//go:build !purego && (amd64 || arm64)

package decrypt

import (
	"encoding/binary"
	"math/bits"
)

// roundKeys are the round keys of AES-256, or in the last 11 of 15 places those of
// AES-128: either way the last one is in the last place, and AES-128 is the
// part of AES-256 that begins at round 4. A word has the first of its bytes
// lowest, so that in memory the keys are in the order that AES instructions take.
//
// It neither branches on nor indexes memory by keys.
type roundKeys [60]uint32

// short is where the round keys of AES-128 begin.
const short = 60 - 44

// used returns the round keys for a key of keySize bytes, 16 or 32.
func (w *roundKeys) used(keySize int) []uint32 {
	if keySize == 16 {
		return w[short:]
	}
	return w[:]
}

// expand computes the round keys for encryption with key, 16 or 32 bytes, as in FIPS
// 197, section 5.2. subWord is SubWord of the standard.
func (w *roundKeys) expand(key []byte, subWord func(uint32) uint32) {
	k := w.used(len(key))
	n := len(key) / 4
	rcon := uint32(1)
	for i := range k {
		if i < n {
			k[i] = binary.LittleEndian.Uint32(key[4*i:])
			continue
		}
		x := k[i-1]
		switch {
		case i%n == 0:
			x = subWord(bits.RotateLeft32(x, -8)) ^ rcon
			rcon = xtime(rcon)
		case n == 8 && i%n == 4:
			x = subWord(x)
		}
		k[i] = k[i-n] ^ x
	}
}

// invert computes from the round keys for encryption, of a key of keySize bytes,
// those for decryption by the equivalent inverse cipher: FIPS 197, section 5.3.5.
func (w *roundKeys) invert(enc *roundKeys, keySize int) {
	d, e := w.used(keySize), enc.used(keySize)
	last := len(e) - 4
	for i := 0; i <= last; i += 4 {
		for j := range 4 {
			x := e[last-i+j]
			if i != 0 && i != last {
				x = invMixColumn(x)
			}
			d[i+j] = x
		}
	}
}

// xtime multiplies each byte of a by x in GF(2^8).
func xtime(a uint32) uint32 {
	return a&0x7f7f7f7f<<1 ^ a>>7&0x01010101*0x1b
}

// invMixColumn is InvMixColumns of one column: FIPS 197, section 5.3.3.
func invMixColumn(a uint32) uint32 {
	a2 := xtime(a)
	a4 := xtime(a2)
	a8 := xtime(a4)
	return a8 ^ a4 ^ a2 ^
		bits.RotateLeft32(a8^a2^a, -8) ^
		bits.RotateLeft32(a8^a4^a, -16) ^
		bits.RotateLeft32(a8^a, -24)
}
