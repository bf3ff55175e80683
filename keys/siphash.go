package keys

import (
	"encoding/binary"
	"math/bits"
)

// sipHash24 is SipHash-2-4 of Aumasson and Bernstein, "SipHash: a fast short-input
// PRF" (2012), with its 64-bit result.
func sipHash24(key *[16]byte, msg []byte) uint64 {
	k0 := binary.LittleEndian.Uint64(key[:8])
	k1 := binary.LittleEndian.Uint64(key[8:])
	v := sipState{
		k0 ^ 0x736f6d6570736575,
		k1 ^ 0x646f72616e646f6d,
		k0 ^ 0x6c7967656e657261,
		k1 ^ 0x7465646279746573,
	}
	last := uint64(len(msg)) << 56 // the final word: what is left, and the length mod 256
	for ; len(msg) >= 8; msg = msg[8:] {
		v.absorb(binary.LittleEndian.Uint64(msg))
	}
	for i, b := range msg {
		last |= uint64(b) << (8 * i)
	}
	v.absorb(last)
	v[2] ^= 0xff
	for range 4 {
		v.round()
	}
	return v[0] ^ v[1] ^ v[2] ^ v[3]
}

type sipState [4]uint64

func (v *sipState) absorb(m uint64) {
	v[3] ^= m
	v.round()
	v.round()
	v[0] ^= m
}

func (v *sipState) round() {
	v[0] += v[1]
	v[1] = bits.RotateLeft64(v[1], 13) ^ v[0]
	v[0] = bits.RotateLeft64(v[0], 32)
	v[2] += v[3]
	v[3] = bits.RotateLeft64(v[3], 16) ^ v[2]
	v[0] += v[3]
	v[3] = bits.RotateLeft64(v[3], 21) ^ v[0]
	v[2] += v[1]
	v[1] = bits.RotateLeft64(v[1], 17) ^ v[2]
	v[2] = bits.RotateLeft64(v[2], 32)
}
