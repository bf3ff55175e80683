// Package polyval implements POLYVAL, the hash function of RFC 8452 over
// GF(2^128), without its length block: the field is given by the polynomial
// x^128 + x^127 + x^126 + x^121 + 1, bit 0 of byte 0 is the coefficient of
// x^0, and a block b takes the state s to (s + b)·h·x^-128.
package polyval

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

const (
	KeySize   = 16 // bytes of key
	BlockSize = 16 // what the length of a message has to be a multiple of
)

// An Element is an element of the field: the coefficients of x^0 to x^63, and
// those of x^64 to x^127. A key is an Element, and so is a state, which starts
// as zero.
type Element struct{ Lo, Hi uint64 }

// Load returns the first 16 bytes of b as an Element.
func Load(b []byte) Element {
	return Element{binary.LittleEndian.Uint64(b[:8]), binary.LittleEndian.Uint64(b[8:BlockSize])}
}

// Update returns the state that follows s when data, a multiple of BlockSize
// bytes, is hashed with the key h. It is constant time.
func (s Element) Update(h Element, data []byte) Element {
	if len(data)%BlockSize != 0 {
		panic(fmt.Sprintf("polyval: data of %d bytes", len(data)))
	}
	for ; len(data) > 0; data = data[BlockSize:] {
		b := Load(data)
		s = Element{s.Lo ^ b.Lo, s.Hi ^ b.Hi}.mul(h)
	}
	return s
}

// mul returns x·y·x^-128.
func (x Element) mul(y Element) Element {
	// The 256-bit product v by Karatsuba's rule.
	v1, v0 := clmul(x.Lo, y.Lo)
	v3, v2 := clmul(x.Hi, y.Hi)
	m1, m0 := clmul(x.Lo^x.Hi, y.Lo^y.Hi)
	m0, m1 = m0^v0^v2, m1^v1^v3
	v1, v2 = v1^m0, v2^m1

	// Divide by x^64 twice: adding v0 times the field's polynomial makes the
	// lowest word zero, so that it can be dropped.
	v1 ^= v0<<63 ^ v0<<62 ^ v0<<57
	v2 ^= v0 ^ v0>>1 ^ v0>>2 ^ v0>>7
	v2 ^= v1<<63 ^ v1<<62 ^ v1<<57
	v3 ^= v1 ^ v1>>1 ^ v1>>2 ^ v1>>7
	return Element{v2, v3}
}

// clmul returns the carry-less product of x and y, which has 127 bits.
//
// It comes from integer products. In a factor of which only every fifth bit may
// be set there are at most 13 such bits; so a bit position of the product of two
// of them receives at most 13 ones, whose sum does not carry further than the
// three positions above. Those are masked off, and the parity at the position
// itself is the coefficient. The idea is that of ghash_ctmul in BearSSL, by Thomas
// Pornin.
func clmul(x, y uint64) (hi, lo uint64) {
	const (
		m0 = 0x1084210842108421 // bits 0, 5, …, 60
		m1 = m0 << 1
		m2 = m0 << 2
		m3 = m0 << 3
		m4 = m0 << 4 & (1<<64 - 1)
	)
	x0, x1, x2, x3, x4 := x&m0, x&m1, x&m2, x&m3, x&m4
	y0, y1, y2, y3, y4 := y&m0, y&m1, y&m2, y&m3, y&m4

	// The bits at positions that are 0 mod 5, then 1 mod 5, and so on. Bit 0 of the
	// high word is at position 64, which is 4 mod 5.
	h0, l0 := mulXor(x0, y0, x1, y4, x2, y3, x3, y2, x4, y1)
	h1, l1 := mulXor(x0, y1, x1, y0, x2, y4, x3, y3, x4, y2)
	h2, l2 := mulXor(x0, y2, x1, y1, x2, y0, x3, y4, x4, y3)
	h3, l3 := mulXor(x0, y3, x1, y2, x2, y1, x3, y0, x4, y4)
	h4, l4 := mulXor(x0, y4, x1, y3, x2, y2, x3, y1, x4, y0)
	hi = h0&m1 | h1&m2 | h2&m3 | h3&m4 | h4&m0
	lo = l0&m0 | l1&m1 | l2&m2 | l3&m3 | l4&m4
	return hi, lo
}

// mulXor returns the exclusive or of the integer products a·b of all five pairs.
func mulXor(a0, b0, a1, b1, a2, b2, a3, b3, a4, b4 uint64) (hi, lo uint64) {
	h0, l0 := bits.Mul64(a0, b0)
	h1, l1 := bits.Mul64(a1, b1)
	h2, l2 := bits.Mul64(a2, b2)
	h3, l3 := bits.Mul64(a3, b3)
	h4, l4 := bits.Mul64(a4, b4)
	return h0 ^ h1 ^ h2 ^ h3 ^ h4, l0 ^ l1 ^ l2 ^ l3 ^ l4
}
