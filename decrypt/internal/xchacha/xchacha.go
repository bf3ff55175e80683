// Package xchacha implements XChaCha12: ChaCha (Bernstein, 2008) with 12 rounds
// and a nonce extended to 192 bits as in draft-irtf-cfrg-xchacha, but with a
// 64-bit block counter.
package xchacha

import (
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"math/bits"
)

const (
	KeySize   = 32 // bytes of key
	NonceSize = 24 // bytes of nonce

	blockSize = 64
	rounds    = 12
)

// A Key is a key as little-endian words.
type Key [KeySize / 4]uint32

// SetBytes sets k to b, which has KeySize bytes.
func (k *Key) SetBytes(b []byte) {
	if len(b) != KeySize {
		panic(fmt.Sprintf("xchacha: key of %d bytes, want %d", len(b), KeySize))
	}
	for i := range k {
		k[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
}

// XORKeyStream sets dst to src xor the beginning of the key stream of k and
// nonce. dst and src have the same length and overlap entirely or not at all.
// It is safe for concurrent use.
func (k *Key) XORKeyStream(dst, src []byte, nonce *[NonceSize]byte) {
	if len(dst) != len(src) {
		panic(fmt.Sprintf("xchacha: dst has %d bytes, src %d", len(dst), len(src)))
	}
	s := k.State(nonce)
	var stream [blockSize]byte
	for len(src) > 0 {
		x := s
		x.permute()
		for i := range x {
			binary.LittleEndian.PutUint32(stream[4*i:], x[i]+s[i])
		}
		n := subtle.XORBytes(dst, src, stream[:])
		dst, src = dst[n:], src[n:]
		if s[12]++; s[12] == 0 {
			s[13]++
		}
	}
}

// State returns the initial state of the ChaCha12 whose key stream is that of k and
// nonce. Its words 12 and 13 are the block counter, low half first, which is 0.
func (k *Key) State(nonce *[NonceSize]byte) State {
	subkey := k.hchacha(nonce)
	return subkey.state([4]uint32{
		2: binary.LittleEndian.Uint32(nonce[16:]),
		3: binary.LittleEndian.Uint32(nonce[20:]),
	})
}

// hchacha returns the key that ChaCha12 takes with the last 8 bytes of nonce.
func (k *Key) hchacha(nonce *[NonceSize]byte) Key {
	var in [4]uint32
	for i := range in {
		in[i] = binary.LittleEndian.Uint32(nonce[4*i:])
	}
	x := k.state(in)
	x.permute()
	return Key{x[0], x[1], x[2], x[3], x[12], x[13], x[14], x[15]}
}

// A State is the 4 by 4 matrix of ChaCha, by rows.
type State [16]uint32

// state returns the initial state with in as its last row.
func (k *Key) state(in [4]uint32) State {
	return State{
		0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, // "expand 32-byte k"
		k[0], k[1], k[2], k[3],
		k[4], k[5], k[6], k[7],
		in[0], in[1], in[2], in[3],
	}
}

// permute applies the rounds, two at a time: one of columns, one of diagonals.
func (x *State) permute() {
	x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
	x4, x5, x6, x7 := x[4], x[5], x[6], x[7]
	x8, x9, x10, x11 := x[8], x[9], x[10], x[11]
	x12, x13, x14, x15 := x[12], x[13], x[14], x[15]
	for range rounds / 2 {
		x0, x4, x8, x12 = quarterRound(x0, x4, x8, x12)
		x1, x5, x9, x13 = quarterRound(x1, x5, x9, x13)
		x2, x6, x10, x14 = quarterRound(x2, x6, x10, x14)
		x3, x7, x11, x15 = quarterRound(x3, x7, x11, x15)

		x0, x5, x10, x15 = quarterRound(x0, x5, x10, x15)
		x1, x6, x11, x12 = quarterRound(x1, x6, x11, x12)
		x2, x7, x8, x13 = quarterRound(x2, x7, x8, x13)
		x3, x4, x9, x14 = quarterRound(x3, x4, x9, x14)
	}
	*x = State{x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15}
}

func quarterRound(a, b, c, d uint32) (uint32, uint32, uint32, uint32) {
	a += b
	d = bits.RotateLeft32(d^a, 16)
	c += d
	b = bits.RotateLeft32(b^c, 12)
	a += b
	d = bits.RotateLeft32(d^a, 8)
	c += d
	b = bits.RotateLeft32(b^c, 7)
	return a, b, c, d
}
