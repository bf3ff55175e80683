package decrypt

// NullDriver returns the driver of a cipher that encrypts nothing: ecb(cipher_null)
// of the kernel's crypto/crypto_null.c. It takes keys and IVs of any length. It is in
// no Table and no file is to be encrypted with it; what reads take without a
// cipher is measured with it.
func NullDriver() Driver {
	return Driver{
		Algorithm: "ecb(cipher_null)", Name: "ecb-cipher_null",
		New: func([]byte) (Cipher, error) { return nullCipher{}, nil },
	}
}

// A nullCipher is a UnitsCipher that copies.
type nullCipher struct{}

func (nullCipher) Encrypt(dst, src, _ []byte) {
	checkBuffers(dst, src)
	if len(src) > 0 && &dst[0] != &src[0] {
		copy(dst, src)
	}
}

func (c nullCipher) Decrypt(dst, src, iv []byte) { c.Encrypt(dst, src, iv) }

func (c nullCipher) EncryptUnits(dst, src []byte, _ int, ivs []byte) { c.Encrypt(dst, src, ivs) }
func (c nullCipher) DecryptUnits(dst, src []byte, _ int, ivs []byte) { c.Encrypt(dst, src, ivs) }
