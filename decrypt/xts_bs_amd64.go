//go:build !purego

package decrypt

import "encfs/decrypt/internal/aesct"

// bsBlocks is how many blocks xtsBitSliced has in flight: one pass of the code for
// AVX2, or two of that for SSSE3.
const bsBlocks = 16

// xtsBitSliced is XTS of IEEE 1619 in constant time for CPUs without AES
// instructions. The blocks of a pass may belong to several data units, and the
// tweaks of as many units are encrypted in a pass of their own.
type xtsBitSliced struct {
	tweak, enc, dec bsKeys
	avx2            bool
}

// newXTSBitSlicedSSSE3 returns a Cipher for a key as newXTSGeneric takes it.
func newXTSBitSlicedSSSE3(key []byte) (Cipher, error) { return newXTSBitSliced(key, false) }

// newXTSBitSlicedAVX2 is newXTSBitSlicedSSSE3 for CPUs with AVX2.
func newXTSBitSlicedAVX2(key []byte) (Cipher, error) { return newXTSBitSliced(key, true) }

func newXTSBitSliced(key []byte, avx2 bool) (Cipher, error) {
	dataKey, tweakKey, err := splitXTSKey(key)
	if err != nil {
		return nil, err
	}
	c := &xtsBitSliced{avx2: avx2}
	var enc, dec roundKeys
	enc.expand(tweakKey, aesct.SubWord)
	c.tweak.set(&enc, len(tweakKey), false)
	enc.expand(dataKey, aesct.SubWord)
	c.enc.set(&enc, len(dataKey), false)
	dec.invert(&enc, len(dataKey))
	c.dec.set(&dec, len(dataKey), true)
	clear(enc[:])
	clear(dec[:])
	return c, nil
}

func (c *xtsBitSliced) Encrypt(dst, src, iv []byte) {
	checkXTS(dst, src, iv)
	c.units(dst, src, len(src), iv, false)
}

func (c *xtsBitSliced) Decrypt(dst, src, iv []byte) {
	checkXTS(dst, src, iv)
	c.units(dst, src, len(src), iv, true)
}

func (c *xtsBitSliced) EncryptUnits(dst, src []byte, unitSize int, ivs []byte) {
	checkUnits(dst, src, unitSize, ivs, blockSize, blockSize)
	c.units(dst, src, unitSize, ivs, false)
}

func (c *xtsBitSliced) DecryptUnits(dst, src []byte, unitSize int, ivs []byte) {
	checkUnits(dst, src, unitSize, ivs, blockSize, blockSize)
	c.units(dst, src, unitSize, ivs, true)
}

func (c *xtsBitSliced) units(dst, src []byte, unitSize int, ivs []byte, decrypt bool) {
	k := &c.enc
	if decrypt {
		k = &c.dec
	}
	t := bsTweaks{c: c, unitSize: unitSize, ivs: ivs, next: bsBlocks * blockSize}
	// The tweaks of a pass are written before the pass that precedes it: code that
	// reads 16 bytes or more has to wait for shorter writes to reach the cache.
	var now, later, last bsBuffer
	n := min(len(src), len(now))
	t.put(now[:n])
	for n > 0 {
		more := min(len(src)-n, len(later))
		t.put(later[:more])
		if n == len(now) {
			c.pass(k, dst, src, now[:], decrypt)
		} else {
			copy(last[:], src)
			c.pass(k, last[:], last[:], now[:], decrypt)
			copy(dst, last[:n])
		}
		now = later
		dst, src, n = dst[n:], src[n:], more
	}
	clear(t.firsts[:])
	clear(now[:])
	clear(later[:])
	clear(last[:])
}

// bsBuffer has a block for each of a pass.
type bsBuffer [bsBlocks * blockSize]byte

// bsTweaks are the tweaks of all blocks of some data units, one after the other.
type bsTweaks struct {
	c        *xtsBitSliced
	unitSize int
	ivs      []byte   // of the units after those in firsts
	firsts   bsBuffer // tweaks of the first blocks of some units
	next     int      // where in firsts that of the next unit is
	tweak    block    // of the next block
	left     int      // bytes left of its unit
}

// put writes the next len(b) bytes of tweaks to b.
func (t *bsTweaks) put(b []byte) {
	for len(b) > 0 {
		if t.left == 0 {
			if t.next == len(t.firsts) {
				var none bsBuffer
				clear(t.firsts[copy(t.firsts[:], t.ivs):])
				t.c.pass(&t.c.tweak, t.firsts[:], t.firsts[:], none[:], false)
				t.ivs = t.ivs[min(len(t.ivs), len(t.firsts)):]
				t.next = 0
			}
			t.tweak = loadBlock(t.firsts[t.next:])
			t.next += blockSize
			t.left = t.unitSize
		}
		n := min(len(b), t.left)
		x := t.tweak
		for i := 0; i < n; i += blockSize {
			x.store(b[i:])
			x = x.double()
		}
		t.tweak = x
		t.left -= n
		b = b[n:]
	}
}

// pass encrypts or decrypts bsBlocks blocks.
func (c *xtsBitSliced) pass(k *bsKeys, dst, src, tweaks []byte, decrypt bool) {
	const half = bsBlocks / 2 * blockSize
	switch {
	case c.avx2 && decrypt:
		bsDecryptAVX2(k, &dst[0], &src[0], &tweaks[0])
	case c.avx2:
		bsEncryptAVX2(k, &dst[0], &src[0], &tweaks[0])
	case decrypt:
		bsDecryptSSSE3(k, &dst[0], &src[0], &tweaks[0])
		bsDecryptSSSE3(k, &dst[half], &src[half], &tweaks[half])
	default:
		bsEncryptSSSE3(k, &dst[0], &src[0], &tweaks[0])
		bsEncryptSSSE3(k, &dst[half], &src[half], &tweaks[half])
	}
}
