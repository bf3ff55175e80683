// Package poly1305 evaluates the polynomial of Poly1305 (RFC 8439, section 2.5)
// without adding the second half of the one-time key at the end: the hash
// function that Adiantum uses, with a key that serves for many messages.
package poly1305

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

const (
	KeySize   = 16 // bytes of key
	BlockSize = 16 // what the length of a message has to be a multiple of
)

// A Key is the point r at which the polynomial is evaluated, as two little-endian
// words. Clamping makes both less than 2^60.
type Key [2]uint64

// SetBytes sets k to b, which has KeySize bytes, clamped.
func (k *Key) SetBytes(b []byte) {
	if len(b) != KeySize {
		panic(fmt.Sprintf("poly1305: key of %d bytes, want %d", len(b), KeySize))
	}
	k[0] = binary.LittleEndian.Uint64(b[0:]) & 0x0FFFFFFC0FFFFFFF
	k[1] = binary.LittleEndian.Uint64(b[8:]) & 0x0FFFFFFC0FFFFFFC
}

// A State is the value h of the polynomial so far, reduced mod p = 2^130 - 5 to
// less than 2^130 + 2^128. The zero State is that of the empty message.
type State struct{ h0, h1, h2 uint64 }

// Write appends data, a multiple of BlockSize bytes, to the message.
func (s *State) Write(k *Key, data []byte) {
	if len(data)%BlockSize != 0 {
		panic(fmt.Sprintf("poly1305: data of %d bytes", len(data)))
	}
	r0, r1 := k[0], k[1]
	h0, h1, h2 := s.h0, s.h1, s.h2
	for ; len(data) >= BlockSize; data = data[BlockSize:] {
		// h += block + 2^128
		var c uint64
		h0, c = bits.Add64(h0, binary.LittleEndian.Uint64(data[0:]), 0)
		h1, c = bits.Add64(h1, binary.LittleEndian.Uint64(data[8:]), c)
		h2 += 1 + c

		// t = h·r. As h2 is at most 6 and r0, r1 are less than 2^60, the products
		// with h2 fit 64 bits, and of the summands of t2 only lo11 can carry.
		hi00, t0 := bits.Mul64(h0, r0)
		hi10, lo10 := bits.Mul64(h1, r0)
		hi01, lo01 := bits.Mul64(h0, r1)
		hi11, lo11 := bits.Mul64(h1, r1)
		t1, c := bits.Add64(hi00, lo10, 0)
		t2 := hi10 + h2*r0 + c
		t1, c = bits.Add64(t1, lo01, 0)
		t2 += hi01 + c
		t2, c = bits.Add64(t2, lo11, 0)
		t3 := hi11 + h2*r1 + c

		// Reduce: t = q·2^130 + h is congruent to h + 5q = h + 4q + q. 4q is t
		// without its low 130 bits, shifted by 128. As t is less than 2^255, 5q is
		// less than 2^128.
		h0, h1, h2 = t0, t1, t2&3
		h0, c = bits.Add64(h0, t2&^3, 0)
		h1, c = bits.Add64(h1, t3, c)
		h2 += c
		h0, c = bits.Add64(h0, t2>>2|t3<<62, 0)
		h1, c = bits.Add64(h1, t3>>2, c)
		h2 += c
	}
	*s = State{h0, h1, h2}
}

// Sum returns h mod p mod 2^128 as two little-endian words.
func (s *State) Sum() (lo, hi uint64) {
	// h < 2p, so one subtraction of p at most is left: h - p is h + 5 - 2^130.
	r0, c := bits.Add64(s.h0, 5, 0)
	r1, c := bits.Add64(s.h1, 0, c)
	r2 := s.h2 + c
	mask := -(r2 >> 2 & 1) // all ones if h >= p
	return s.h0&^mask | r0&mask, s.h1&^mask | r1&mask
}
