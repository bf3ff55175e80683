package decrypt

import (
	"crypto/aes"
	"crypto/cipher"
)

// xtsGeneric is XTS of IEEE 1619 without ciphertext stealing, as data units are
// whole blocks, with any block cipher of 16 bytes.
type xtsGeneric struct{ data, tweak cipher.Block }

// newXTSGeneric returns AES-128-XTS for a key of 32 bytes and AES-256-XTS for
// 64, the data key before the tweak key. It keeps no reference to key.
func newXTSGeneric(key []byte) (Cipher, error) {
	dataKey, tweakKey, err := splitXTSKey(key)
	if err != nil {
		return nil, err
	}
	data, err := aes.NewCipher(dataKey)
	if err != nil {
		return nil, err
	}
	tweak, err := aes.NewCipher(tweakKey)
	if err != nil {
		return nil, err
	}
	return &xtsGeneric{data, tweak}, nil
}

func (c *xtsGeneric) Encrypt(dst, src, iv []byte) {
	checkXTS(dst, src, iv)
	x := loadBlock(src) // first, as dst may be src and the tweak passes through dst
	t := loadBlock(iv).encrypt(c.tweak, dst)
	for {
		x.xor(t).encrypt(c.data, dst).xor(t).store(dst)
		if len(src) == blockSize {
			return
		}
		dst, src = dst[blockSize:], src[blockSize:]
		x, t = loadBlock(src), t.double()
	}
}

func (c *xtsGeneric) Decrypt(dst, src, iv []byte) {
	checkXTS(dst, src, iv)
	x := loadBlock(src)
	t := loadBlock(iv).encrypt(c.tweak, dst)
	for {
		x.xor(t).decrypt(c.data, dst).xor(t).store(dst)
		if len(src) == blockSize {
			return
		}
		dst, src = dst[blockSize:], src[blockSize:]
		x, t = loadBlock(src), t.double()
	}
}
