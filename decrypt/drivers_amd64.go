//go:build !purego

package decrypt

import "encfs/cpufeat"

// assemblyDrivers are the drivers that need amd64.
var assemblyDrivers = []Driver{
	{"hctr2(aes)", "hctr2-aesni", 300, cpufeat.AES | cpufeat.PCLMULQDQ, newHCTR2Asm},
	{"adiantum(xchacha12,aes)", "adiantum-avx512", 400, cpufeat.AVX512F | cpufeat.AVX512BW | cpufeat.AVX512VL, newAdiantumAVX512},
	{"adiantum(xchacha12,aes)", "adiantum-avx2", 300, cpufeat.AVX2, newAdiantumAVX2},
}
