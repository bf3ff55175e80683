//go:build !purego

package decrypt

import (
	"encfs/decrypt/internal/nh"
	"encfs/decrypt/internal/poly1305"
	"encfs/decrypt/internal/xchacha"
)

// adiantumHashKeys are the keys of the two hashes as the functions below take them.
type adiantumHashKeys struct {
	message poly1305.Key

	// nh has the two middle words of each group of four exchanged. In this order
	// the factors of NH's products are neighbours: added to words of the message in
	// the same order, a lane of 64 bits has both of them.
	nh nh.Key

	tweak poly1305.Key
}

// set sets h to the keys of the hashes in k.
func (h *adiantumHashKeys) set(k *adiantumKeys) {
	h.message, h.nh, h.tweak = k.message, k.nh, k.tweak
	for i := 0; i < len(h.nh); i += 4 {
		h.nh[i+1], h.nh[i+2] = h.nh[i+2], h.nh[i+1]
	}
}

func (h *adiantumHashKeys) hashTweak(iv []byte, n int) block {
	var s poly1305.State
	poly1305Tweaks(&s, &h.tweak, 8*uint64(n), &iv[0], 1)
	lo, hi := s.Sum()
	return block{lo, hi}
}

// hashTweaks returns the hashes of at most unitsAtOnce tweaks, which are ivs, and of the
// length n of each message.
func (h *adiantumHashKeys) hashTweaks(ivs []byte, n int) [unitsAtOnce]block {
	var states [unitsAtOnce]poly1305.State
	if len(ivs) > 0 {
		poly1305Tweaks(&states[0], &h.tweak, 8*uint64(n), &ivs[0], len(ivs)/adiantumIVSize)
	}
	return sums(&states)
}

// sums returns the sum of each state.
func sums(states *[unitsAtOnce]poly1305.State) (hashes [unitsAtOnce]block) {
	for i := range states {
		hashes[i].lo, hashes[i].hi = states[i].Sum()
	}
	return hashes
}

// poly1305Tweaks sets count states, of which the first is at states, to those of Poly1305
// with key after a message of three blocks each: bits as a number, the same for all, and
// the next 32 bytes at ivs. count is positive.
//
//go:noescape
func poly1305Tweaks(states *poly1305.State, key *poly1305.Key, bits uint64, ivs *byte, count int)

// nhPoly1305AVX2 sets count states, of which the first is at states, to those of Poly1305
// after the NH values of the pieces of a message each. The messages have n bytes, n
// positive, begin at the given distance from each other, and the last granule of each
// is padded with zeros. Needs AVX2.
//
//go:noescape
func nhPoly1305AVX2(states *poly1305.State, keys *adiantumHashKeys, messages *byte, n, distance, count int)

// hchacha12AVX2 sets state to the initial state of ChaCha12 for key and the nonce
// of adiantumNonce, of which lo and hi are the encrypted block. It does what
// [xchacha.Key.State] does. Needs AVX2.
//
//go:noescape
func hchacha12AVX2(state *xchacha.State, key *xchacha.Key, lo, hi uint64)

// hchacha12EightAVX2 does the same for eight encrypted blocks. The states must be zero.
// Needs AVX2.
//
//go:noescape
func hchacha12EightAVX2(states *[unitsAtOnce]xchacha.State, key *xchacha.Key, cms *[unitsAtOnce]block)

// chacha12AVX2 sets n bytes at dst to those at src xor the key stream of ChaCha12
// that begins with the block of the initial state; n is positive and less than
// 2^38, and word 12 of the state, the low half of the block counter, is 0 at first.
// dst and src overlap entirely or not at all. The state changes. Needs AVX2.
//
//go:noescape
func chacha12AVX2(dst, src *byte, n int, state *xchacha.State)

// adiantumAVX2 are the parts of Adiantum with AVX2.
type adiantumAVX2 struct {
	stream xchacha.Key
	hash   adiantumHashKeys
}

func newAdiantumAVX2(key []byte) (Cipher, error) {
	return newAdiantumUnits(key, new(adiantumAVX2), new(aes256BitSliced))
}

// newAdiantumAVX2AESNI is newAdiantumAVX2 for CPUs with AES instructions.
func newAdiantumAVX2AESNI(key []byte) (Cipher, error) {
	return newAdiantumUnits(key, new(adiantumAVX2), new(aes256Asm))
}

func (c *adiantumAVX2) setKeys(k *adiantumKeys) {
	c.stream = k.stream
	c.hash.set(k)
}

func (c *adiantumAVX2) hashTweak(iv []byte, n int) block {
	return c.hash.hashTweak(iv, n)
}

func (c *adiantumAVX2) hashTweaks(ivs []byte, n int) [unitsAtOnce]block {
	return c.hash.hashTweaks(ivs, n)
}

func (c *adiantumAVX2) hashMessage(message []byte) block {
	var s poly1305.State
	if len(message) > 0 {
		nhPoly1305AVX2(&s, &c.hash, &message[0], len(message), 0, 1)
	}
	lo, hi := s.Sum()
	return block{lo, hi}
}

func (c *adiantumAVX2) hashMessages(src []byte, unitSize int) [unitsAtOnce]block {
	var states [unitsAtOnce]poly1305.State
	if n := unitSize - blockSize; n > 0 && len(src) > 0 {
		nhPoly1305AVX2(&states[0], &c.hash, &src[0], n, unitSize, len(src)/unitSize)
	}
	return sums(&states)
}

func (c *adiantumAVX2) xorKeyStream(dst, src []byte, cm block) {
	if len(src) > 0 {
		var state xchacha.State
		hchacha12AVX2(&state, &c.stream, cm.lo, cm.hi)
		chacha12AVX2(&dst[0], &src[0], len(src), &state)
	}
}

func (c *adiantumAVX2) xorKeyStreams(dst, src []byte, unitSize int, cms [unitsAtOnce]block) {
	var states [unitsAtOnce]xchacha.State
	hchacha12EightAVX2(&states, &c.stream, &cms)
	for i := 0; i*unitSize < len(src); i++ {
		if to, from := leftOf(dst, i, unitSize), leftOf(src, i, unitSize); len(from) > 0 {
			chacha12AVX2(&to[0], &from[0], len(from), &states[i])
		}
	}
}

// nhPoly1305AVX512 sets count states, of which the first is at states, to those of Poly1305
// after the NH values of the pieces of a message each. The messages have n bytes, n
// positive, begin at the given distance from each other, and the last granule of each
// is padded with zeros. Needs AVX512F, AVX512BW and AVX512VL.
//
//go:noescape
func nhPoly1305AVX512(states *poly1305.State, keys *adiantumHashKeys, messages *byte, n, distance, count int)

// hchacha12AVX512 sets state to the initial state of ChaCha12 for key and the nonce
// of adiantumNonce, of which lo and hi are the encrypted block. It does what
// [xchacha.Key.State] does. Needs AVX512F,
// AVX512BW and AVX512VL.
//
//go:noescape
func hchacha12AVX512(state *xchacha.State, key *xchacha.Key, lo, hi uint64)

// hchacha12EightAVX512 does the same for eight encrypted blocks. Needs AVX512F, AVX512BW
// and AVX512VL.
//
//go:noescape
func hchacha12EightAVX512(states *[unitsAtOnce]xchacha.State, key *xchacha.Key, cms *[unitsAtOnce]block)

// chacha12AVX512 sets n bytes at dst to those at src xor the key stream of ChaCha12
// that begins with the block of the initial state; n is positive and less than
// 2^38, and word 12 of the state, the low half of the block counter, is 0 at first.
// dst and src overlap entirely or not at all. The state changes. Needs AVX512F,
// AVX512BW and AVX512VL.
//
//go:noescape
func chacha12AVX512(dst, src *byte, n int, state *xchacha.State)

// chacha12TwoAVX512 does what chacha12AVX512 does with states[0] for the n bytes at dst
// and src, and with states[1] for as many at the given distance from them. n is more than
// 448 and at most 512, which takes eight blocks, and the block counters are 0. The states
// do not change. Needs AVX512F, AVX512BW and AVX512VL.
//
//go:noescape
func chacha12TwoAVX512(dst, src *byte, n, distance int, states *[2]xchacha.State)

// adiantumAVX512 are the parts of Adiantum with AVX-512.
type adiantumAVX512 struct {
	stream xchacha.Key
	hash   adiantumHashKeys
}

func newAdiantumAVX512(key []byte) (Cipher, error) {
	return newAdiantumUnits(key, new(adiantumAVX512), new(aes256BitSliced))
}

// newAdiantumAVX512AESNI is newAdiantumAVX512 for CPUs with AES instructions.
func newAdiantumAVX512AESNI(key []byte) (Cipher, error) {
	return newAdiantumUnits(key, new(adiantumAVX512), new(aes256Asm))
}

func (c *adiantumAVX512) setKeys(k *adiantumKeys) {
	c.stream = k.stream
	c.hash.set(k)
}

func (c *adiantumAVX512) hashTweak(iv []byte, n int) block {
	return c.hash.hashTweak(iv, n)
}

func (c *adiantumAVX512) hashTweaks(ivs []byte, n int) [unitsAtOnce]block {
	return c.hash.hashTweaks(ivs, n)
}

func (c *adiantumAVX512) hashMessage(message []byte) block {
	var s poly1305.State
	if len(message) > 0 {
		nhPoly1305AVX512(&s, &c.hash, &message[0], len(message), 0, 1)
	}
	lo, hi := s.Sum()
	return block{lo, hi}
}

func (c *adiantumAVX512) hashMessages(src []byte, unitSize int) [unitsAtOnce]block {
	var states [unitsAtOnce]poly1305.State
	if n := unitSize - blockSize; n > 0 && len(src) > 0 {
		nhPoly1305AVX512(&states[0], &c.hash, &src[0], n, unitSize, len(src)/unitSize)
	}
	return sums(&states)
}

func (c *adiantumAVX512) xorKeyStream(dst, src []byte, cm block) {
	if len(src) > 0 {
		var state xchacha.State
		hchacha12AVX512(&state, &c.stream, cm.lo, cm.hi)
		chacha12AVX512(&dst[0], &src[0], len(src), &state)
	}
}

func (c *adiantumAVX512) xorKeyStreams(dst, src []byte, unitSize int, cms [unitsAtOnce]block) {
	var states [unitsAtOnce]xchacha.State
	hchacha12EightAVX512(&states, &c.stream, &cms)
	i := 0
	if n := unitSize - blockSize; n > 448 && n <= 512 {
		for ; (i+2)*unitSize <= len(src); i += 2 {
			chacha12TwoAVX512(&dst[i*unitSize], &src[i*unitSize], n, unitSize, (*[2]xchacha.State)(states[i:]))
		}
	}
	for ; i*unitSize < len(src); i++ {
		if to, from := leftOf(dst, i, unitSize), leftOf(src, i, unitSize); len(from) > 0 {
			chacha12AVX512(&to[0], &from[0], len(from), &states[i])
		}
	}
}
