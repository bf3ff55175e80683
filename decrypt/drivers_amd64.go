//go:build !purego

package decrypt

import "encfs/cpufeat"

// What drivers need beyond the features that are in a name.
const (
	needsVAESAVX2   = cpufeat.VAES | cpufeat.VPCLMULQDQ | cpufeat.AVX2
	needsVAESAVX512 = cpufeat.VAES | cpufeat.VPCLMULQDQ | cpufeat.BMI2 |
		cpufeat.AVX512F | cpufeat.AVX512BW | cpufeat.AVX512VL
	needsAdiantumAVX512 = cpufeat.AVX512F | cpufeat.AVX512BW | cpufeat.AVX512VL
)

// assemblyDrivers are the drivers that need amd64.
var assemblyDrivers = []Driver{
	{"xts(aes)", "xts-aes-vaes-avx512", 800, needsVAESAVX512, newXTSVAESAVX512},
	{"xts(aes)", "xts-aes-vaes-avx2", 600, needsVAESAVX2, newXTSVAESAVX2},
	{"xts(aes)", "xts-aes-aesni-avx", 500, cpufeat.AES | cpufeat.AVX, newXTSAESNIAVX},
	{"xts(aes)", "xts-aes-aesni", 401, cpufeat.AES, newXTSAESNI},
	{"xts(aes)", "xts-aes-bs-avx2", 250, cpufeat.AVX2, newXTSBitSlicedAVX2},
	{"xts(aes)", "xts-aes-bs-ssse3", 200, cpufeat.SSSE3, newXTSBitSlicedSSSE3},
	{"hctr2(aes)", "hctr2-aesni", 300, cpufeat.AES | cpufeat.PCLMULQDQ, newHCTR2Asm},
	{"adiantum(xchacha12,aes)", "adiantum-avx512-aesni", 450, needsAdiantumAVX512 | cpufeat.AES, newAdiantumAVX512AESNI},
	{"adiantum(xchacha12,aes)", "adiantum-avx512", 400, needsAdiantumAVX512, newAdiantumAVX512},
	{"adiantum(xchacha12,aes)", "adiantum-avx2-aesni", 350, cpufeat.AVX2 | cpufeat.AES, newAdiantumAVX2AESNI},
	{"adiantum(xchacha12,aes)", "adiantum-avx2", 300, cpufeat.AVX2, newAdiantumAVX2},
}
