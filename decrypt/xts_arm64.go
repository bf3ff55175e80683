//go:build !purego

package decrypt

// newXTSCE is newXTSAsm for CPUs with the AES instructions of the ARMv8
// Cryptographic Extension.
func newXTSCE(key []byte) (Cipher, error) { return newXTSAsm(key, subWordCE, xtsCE) }

// subWordCE is SubWord of FIPS 197, section 5.2. Needs AES.
//
//go:noescape
func subWordCE(x uint32) uint32

// xtsCE is an xtsCode. Needs AES.
//
//go:noescape
func xtsCE(k *xtsKeys, dst, src *byte, n, unitSize int, ivs *byte, decrypt bool)
