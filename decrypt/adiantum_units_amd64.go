//go:build !purego

package decrypt

const (
	// unitsAtOnce is for how many data units the subkeys of XChaCha12 are computed
	// side by side, and AES without instructions for it.
	unitsAtOnce = aesBlocks

	// bytesAtOnce is how much data may come between the two times that a data unit is
	// gone through: half of a first-level cache.
	bytesAtOnce = 16384
)

// adiantumUnits is Adiantum as a UnitsCipher. A subkey of XChaCha12 is a long chain of
// dependent steps, which takes hardly longer for eight data units than for one, Poly1305
// of a data unit hides behind NH of the next one, and the first block of all tweaks is
// the same.
type adiantumUnits struct {
	*adiantum
	parts adiantumUnitsParts
	aes   aes256Blocks
}

// adiantumUnitsParts are parts of Adiantum that can do so.
type adiantumUnitsParts interface {
	adiantumParts

	// hashTweaks is hashTweak for at most unitsAtOnce tweaks, one after the other in ivs,
	// of messages of the length n.
	hashTweaks(ivs []byte, n int) [unitsAtOnce]block

	// hashMessages is hashMessage for what precedes the last block of each of at most
	// unitsAtOnce data units, all of which are whole.
	hashMessages(src []byte, unitSize int) [unitsAtOnce]block

	// xorKeyStreams is xorKeyStream for what precedes the last block of each of at most
	// unitsAtOnce data units. Their encrypted blocks are the first of cms.
	xorKeyStreams(dst, src []byte, unitSize int, cms [unitsAtOnce]block)
}

// newAdiantumUnits is newAdiantum for these parts. It sets the key of aes.
func newAdiantumUnits(key []byte, parts adiantumUnitsParts, aes aes256Blocks) (Cipher, error) {
	c, err := newAdiantum(key, parts, func(key []byte) aes256 {
		aes.setKey(key)
		return aes
	})
	if err != nil {
		return nil, err
	}
	return &adiantumUnits{c.(*adiantum), parts, aes}, nil
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

// hashTweaks returns the hashes of the tweaks of the data units in src.
func (c *adiantumUnits) hashTweaks(src []byte, unitSize int, ivs []byte) [unitsAtOnce]block {
	whole := len(src) / unitSize
	hashes := c.parts.hashTweaks(ivs[:whole*adiantumIVSize], unitSize-blockSize)
	if whole*unitSize < len(src) {
		hashes[whole] = c.hashTweak(ivs[whole*adiantumIVSize:], len(leftOf(src, whole, unitSize)))
	}
	return hashes
}

// hashMessages returns the hashes of what precedes the last block of each data unit in
// src.
func (c *adiantumUnits) hashMessages(src []byte, unitSize int) [unitsAtOnce]block {
	whole := len(src) / unitSize
	hashes := c.parts.hashMessages(src[:whole*unitSize], unitSize)
	if whole*unitSize < len(src) {
		hashes[whole] = c.hashMessage(leftOf(src, whole, unitSize))
	}
	return hashes
}

// transformSome does it for at most unitsAtOnce data units, with the names of Encrypt
// and Decrypt. Each part is done for all of them before the next one: they do not depend
// on each other, so that the CPU goes through several at a time.
func (c *adiantumUnits) transformSome(dst, src []byte, unitSize int, ivs []byte, decrypt bool) {
	if len(src) <= unitSize { // of which most parts would be done for eight
		if decrypt {
			c.Decrypt(dst, src, ivs[:adiantumIVSize])
		} else {
			c.Encrypt(dst, src, ivs[:adiantumIVSize])
		}
		return
	}
	units := (len(src) + unitSize - 1) / unitSize
	tweaks := c.hashTweaks(src, unitSize, ivs[:units*adiantumIVSize])
	messages := c.hashMessages(src, unitSize)
	var cms, rights [unitsAtOnce]block
	for i := range units {
		right := loadBlock(src[i*unitSize+len(leftOf(src, i, unitSize)):])
		rights[i] = right.add(messages[i]).add(tweaks[i])
	}
	if decrypt {
		cms = rights
		rights = c.aes.decryptBlocks(rights, units)
	} else {
		rights = c.aes.encryptBlocks(rights, units)
		cms = rights
	}
	c.parts.xorKeyStreams(dst, src, unitSize, cms)
	messages = c.hashMessages(dst, unitSize)
	for i := range units {
		left := len(leftOf(dst, i, unitSize))
		rights[i].sub(tweaks[i]).sub(messages[i]).store(dst[i*unitSize+left:])
	}
}
