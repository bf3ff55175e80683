//go:build !purego

package decrypt

import (
	"encfs/decrypt/internal/nh"
	"encfs/decrypt/internal/poly1305"
	"encfs/decrypt/internal/xchacha"
)

// nhNEON hashes the pieces of message, each of at most nh.PieceSize bytes, which
// together have n bytes, a positive multiple of nh.Granule. It stores the nh.Size
// bytes of each piece to sums, one after the other. Needs ASIMD.
//
//go:noescape
func nhNEON(sums *byte, key *nh.Key, message *byte, n int)

// chacha12NEON sets n bytes at dst to those at src xor the key stream of ChaCha12
// that begins with the block of the initial state, and makes that the state of the
// block after them. n is a positive multiple of 256 less than 2^38, and word 12 of
// the state, the low half of the block counter, is 0 in the first of several calls.
// dst and src overlap entirely or not at all. Needs ASIMD.
//
//go:noescape
func chacha12NEON(dst, src *byte, n int, state *xchacha.State)

// adiantumNEON are the parts of Adiantum with Advanced SIMD. What is done once in a
// data unit or a KiB, the subkey of XChaCha12 and Poly1305, is in Go: a single state
// has too little to do side by side for vectors to pay.
type adiantumNEON struct{ keys *adiantumKeys }

func newAdiantumNEON(key []byte) (Cipher, error) {
	return newAdiantum(key, new(adiantumNEON), newAES256Sliced)
}

// newAdiantumNEONCE is newAdiantumNEON for CPUs with AES instructions.
func newAdiantumNEONCE(key []byte) (Cipher, error) {
	return newAdiantum(key, new(adiantumNEON), newAES256Asm)
}

func (c *adiantumNEON) setKeys(k *adiantumKeys) { c.keys = k }

func (c *adiantumNEON) hashTweak(iv []byte, n int) block { return c.keys.hashTweak(iv, n) }

func (c *adiantumNEON) hashMessage(message []byte) block {
	const pieces = 8 // at a time
	var sums [pieces * nh.Size]byte
	var s poly1305.State
	whole := len(message)
	if whole%nh.Granule != 0 {
		whole = whole / nh.PieceSize * nh.PieceSize
	}
	for m := message[:whole]; len(m) > 0; {
		n := min(len(m), pieces*nh.PieceSize)
		nhNEON(&sums[0], &c.keys.nh, &m[0], n)
		s.Write(&c.keys.message, sums[:(n+nh.PieceSize-1)/nh.PieceSize*nh.Size])
		m = m[n:]
	}
	if whole < len(message) {
		var last [nh.PieceSize]byte
		n := copy(last[:], message[whole:])
		nhNEON(&sums[0], &c.keys.nh, &last[0], (n+nh.Granule-1)/nh.Granule*nh.Granule)
		s.Write(&c.keys.message, sums[:nh.Size])
	}
	lo, hi := s.Sum()
	return block{lo, hi}
}

func (c *adiantumNEON) xorKeyStream(dst, src []byte, cm block) {
	const fourBlocks = 256
	nonce := adiantumNonce(cm)
	state := c.keys.stream.State(&nonce)
	whole := len(src) / fourBlocks * fourBlocks
	if whole > 0 {
		chacha12NEON(&dst[0], &src[0], whole, &state)
	}
	if whole < len(src) {
		var last [fourBlocks]byte
		copy(last[:], src[whole:])
		chacha12NEON(&last[0], &last[0], fourBlocks, &state)
		copy(dst[whole:], last[:])
	}
}
