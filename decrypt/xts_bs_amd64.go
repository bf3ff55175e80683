//go:build !purego

package decrypt

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
	enc.expand(tweakKey, subWord)
	c.tweak.set(&enc, len(tweakKey), false)
	enc.expand(dataKey, subWord)
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

// bsBuffer has a block for each of a pass.
type bsBuffer [bsBlocks * blockSize]byte

func (c *xtsBitSliced) units(dst, src []byte, unitSize int, ivs []byte, decrypt bool) {
	var (
		none   bsBuffer // no tweaks
		firsts bsBuffer // encrypted tweaks of some data units
		next   int      // of which this one is next
		tweaks bsBuffer // of the blocks of a pass
		last   bsBuffer // the blocks of the last pass, if it is not full

		tweak block // of the next block
		left  int   // bytes left of its data unit
	)
	next = len(firsts)
	for len(src) > 0 {
		n := min(len(src), len(tweaks))
		for i := 0; i < n; i += blockSize {
			if left == 0 {
				if next == len(firsts) {
					clear(last[copy(last[:], ivs):])
					c.pass(&c.tweak, firsts[:], last[:], none[:], false)
					ivs = ivs[min(len(ivs), len(firsts)):]
					next = 0
				}
				tweak = loadBlock(firsts[next:])
				next += blockSize
				left = unitSize
			}
			tweak.store(tweaks[i:])
			tweak = tweak.double()
			left -= blockSize
		}
		k := &c.enc
		if decrypt {
			k = &c.dec
		}
		if n == len(tweaks) {
			c.pass(k, dst, src, tweaks[:], decrypt)
		} else {
			copy(last[:], src)
			c.pass(k, last[:], last[:], tweaks[:], decrypt)
			copy(dst, last[:n])
		}
		dst, src = dst[n:], src[n:]
	}
	clear(firsts[:])
	clear(tweaks[:])
	clear(last[:])
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
