//go:build !purego

package decrypt

const (
	// unitsAtOnce is for how many data units the subkeys of XChaCha12 are computed
	// side by side.
	unitsAtOnce = 8

	// bytesAtOnce is how much data may come between the two times that a data unit is
	// gone through: half of a first-level cache.
	bytesAtOnce = 16384
)

// adiantumUnits is Adiantum as a UnitsCipher. A subkey of XChaCha12 is a long chain of
// dependent steps, which takes hardly longer for eight data units than for one, and
// the small parts that precede it, which depend on nothing of the unit before, overlap.
type adiantumUnits struct {
	*adiantum
	parts adiantumUnitsParts
}

// adiantumUnitsParts are parts of Adiantum that can do so.
type adiantumUnitsParts interface {
	adiantumParts

	// xorKeyStreams is xorKeyStream for what precedes the last block of each of at most
	// unitsAtOnce data units. Their encrypted blocks are the first of cms.
	xorKeyStreams(dst, src []byte, unitSize int, cms [unitsAtOnce]block)
}

// newAdiantumUnits is newAdiantum for these parts.
func newAdiantumUnits(key []byte, parts adiantumUnitsParts, aes func(key []byte) aes256) (Cipher, error) {
	c, err := newAdiantum(key, parts, aes)
	if err != nil {
		return nil, err
	}
	return &adiantumUnits{c.(*adiantum), parts}, nil
}

func (c *adiantumUnits) EncryptUnits(dst, src []byte, unitSize int, ivs []byte) {
	c.transform(dst, src, unitSize, ivs, false)
}

func (c *adiantumUnits) DecryptUnits(dst, src []byte, unitSize int, ivs []byte) {
	c.transform(dst, src, unitSize, ivs, true)
}

func (c *adiantumUnits) transform(dst, src []byte, unitSize int, ivs []byte, decrypt bool) {
	checkUnits(dst, src, unitSize, ivs, 1, adiantumIVSize)
	count := min(max(bytesAtOnce/unitSize, 2), unitsAtOnce)
	for len(src) > 0 {
		n := min(len(src), count*unitSize)
		c.transformSome(dst[:n], src[:n], unitSize, ivs, decrypt)
		dst, src = dst[n:], src[n:]
		ivs = ivs[min(len(ivs), count*adiantumIVSize):]
	}
}

// leftOf returns what precedes the last block of data unit i in b.
func leftOf(b []byte, i, unitSize int) []byte {
	return b[i*unitSize : min((i+1)*unitSize, len(b))-blockSize]
}

// transformSome does it for at most unitsAtOnce data units, with the names of Encrypt
// and Decrypt. Each loop is over chains of steps that are independent of each other, so
// that the CPU goes through several at a time.
func (c *adiantumUnits) transformSome(dst, src []byte, unitSize int, ivs []byte, decrypt bool) {
	units := (len(src) + unitSize - 1) / unitSize
	var cms, rights, tweaks [unitsAtOnce]block
	for i := range units {
		left := leftOf(src, i, unitSize)
		rights[i] = loadBlock(src[i*unitSize+len(left):]).add(c.hashMessage(left))
	}
	for i := range units {
		iv := ivs[i*adiantumIVSize : (i+1)*adiantumIVSize]
		tweaks[i] = c.hashTweak(iv, len(leftOf(src, i, unitSize)))
	}
	for i := range units {
		scratch := dst[i*unitSize+len(leftOf(dst, i, unitSize)):]
		x := rights[i].add(tweaks[i])
		if decrypt {
			cms[i] = x
			rights[i] = c.keys.block.decryptBlock(x, scratch)
		} else {
			cms[i] = c.keys.block.encryptBlock(x, scratch)
			rights[i] = cms[i]
		}
	}
	c.parts.xorKeyStreams(dst, src, unitSize, cms)
	for i := range units {
		left := leftOf(dst, i, unitSize)
		rights[i].sub(tweaks[i]).sub(c.hashMessage(left)).store(dst[i*unitSize+len(left):])
	}
}
