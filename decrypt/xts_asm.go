//go:build !purego && (amd64 || arm64)

package decrypt

// xtsKeys is what the machine code of XTS reads of a key. The round keys stay in
// memory as long as the cipher is in use.
type xtsKeys struct {
	tweak roundKeys // for encryption, of the tweak key
	enc   roundKeys // for encryption, of the data key
	dec   roundKeys // for decryption, of the data key
	first int       // offset of the first round key in each, in bytes
}

// xtsCode is the machine code of a driver. It encrypts or decrypts n bytes from src
// to dst, in data units of unitSize bytes, the last of which may be shorter. n
// and unitSize are positive multiples of 16; ivs points to 16 bytes for each
// unit. dst and src overlap entirely or not at all. It reads and writes
// nothing outside of these, and keeps no intermediate values on the stack when
// it returns.
type xtsCode func(k *xtsKeys, dst, src *byte, n, unitSize int, ivs *byte, decrypt bool)

// xtsAsm is XTS of IEEE 1619 by machine code.
type xtsAsm struct {
	keys xtsKeys
	code xtsCode
}

// newXTSAsm returns a Cipher for a key as newXTSGeneric takes it. subWord is
// SubWord of AES.
func newXTSAsm(key []byte, subWord func(uint32) uint32, code xtsCode) (Cipher, error) {
	dataKey, tweakKey, err := splitXTSKey(key)
	if err != nil {
		return nil, err
	}
	c := &xtsAsm{code: code}
	c.keys.tweak.expand(tweakKey, subWord)
	c.keys.enc.expand(dataKey, subWord)
	c.keys.dec.invert(&c.keys.enc, len(dataKey))
	c.keys.first = 4 * (len(c.keys.enc) - len(c.keys.enc.used(len(dataKey))))
	return c, nil
}

func (c *xtsAsm) Encrypt(dst, src, iv []byte) {
	checkXTS(dst, src, iv)
	c.code(&c.keys, &dst[0], &src[0], len(src), len(src), &iv[0], false)
}

func (c *xtsAsm) Decrypt(dst, src, iv []byte) {
	checkXTS(dst, src, iv)
	c.code(&c.keys, &dst[0], &src[0], len(src), len(src), &iv[0], true)
}

func (c *xtsAsm) EncryptUnits(dst, src []byte, unitSize int, ivs []byte) {
	checkUnits(dst, src, unitSize, ivs, blockSize, blockSize)
	c.code(&c.keys, &dst[0], &src[0], len(src), unitSize, &ivs[0], false)
}

func (c *xtsAsm) DecryptUnits(dst, src []byte, unitSize int, ivs []byte) {
	checkUnits(dst, src, unitSize, ivs, blockSize, blockSize)
	c.code(&c.keys, &dst[0], &src[0], len(src), unitSize, &ivs[0], true)
}
