//go:build !purego

package decrypt

// newXTSAESNI is newXTSAsm for CPUs with AES-NI.
func newXTSAESNI(key []byte) (Cipher, error) { return newXTSAsm(key, subWordAESNI, xtsAESNI) }

// newXTSAESNIAVX is newXTSAsm for CPUs with AES-NI and AVX.
func newXTSAESNIAVX(key []byte) (Cipher, error) { return newXTSAsm(key, subWordAESNI, xtsAESNIAVX) }

// newXTSVAESAVX2 is newXTSAsm for CPUs with VAES and AVX2.
func newXTSVAESAVX2(key []byte) (Cipher, error) { return newXTSAsm(key, subWordAESNI, xtsVAESAVX2) }

// newXTSVAESAVX512 is newXTSAsm for CPUs with VAES and AVX-512.
func newXTSVAESAVX512(key []byte) (Cipher, error) {
	return newXTSAsm(key, subWordAESNI, xtsVAESAVX512)
}

// subWordAESNI is SubWord of FIPS 197, section 5.2. Needs AES-NI.
//
//go:noescape
func subWordAESNI(x uint32) uint32

// xtsAESNI is an xtsCode. Needs AES-NI, and no AVX.
//
//go:noescape
func xtsAESNI(k *xtsKeys, dst, src *byte, n, unitSize int, ivs *byte, decrypt bool)

// xtsAESNIAVX is an xtsCode. Needs AES-NI and AVX.
//
//go:noescape
func xtsAESNIAVX(k *xtsKeys, dst, src *byte, n, unitSize int, ivs *byte, decrypt bool)

// xtsVAESAVX2 is an xtsCode. Needs VAES, VPCLMULQDQ and AVX2.
//
//go:noescape
func xtsVAESAVX2(k *xtsKeys, dst, src *byte, n, unitSize int, ivs *byte, decrypt bool)

// xtsVAESAVX512 is an xtsCode. Needs VAES, VPCLMULQDQ, AVX-512 F, BW and VL, and
// BMI2.
//
//go:noescape
func xtsVAESAVX512(k *xtsKeys, dst, src *byte, n, unitSize int, ivs *byte, decrypt bool)
