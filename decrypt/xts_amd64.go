//go:build !purego

package decrypt

// newXTSAESNI is newXTSAsm for CPUs with AES-NI.
func newXTSAESNI(key []byte) (Cipher, error) { return newXTSAsm(key, subWordAESNI, xtsAESNI) }

// subWordAESNI is SubWord of FIPS 197, section 5.2. Needs AES-NI.
//
//go:noescape
func subWordAESNI(x uint32) uint32

// xtsAESNI is an xtsCode. Needs AES-NI, and no AVX.
//
//go:noescape
func xtsAESNI(k *xtsKeys, dst, src *byte, n, unitSize int, ivs *byte, decrypt bool)
