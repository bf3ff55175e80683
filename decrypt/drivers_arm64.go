//go:build !purego

package decrypt

import "encfs/cpufeat"

// assemblyDrivers are the drivers that need arm64.
var assemblyDrivers = []Driver{
	{"xts(aes)", "xts-aes-ce", 300, cpufeat.AES, newXTSCE},
	{"hctr2(aes)", "hctr2-ce", 300, cpufeat.AES | cpufeat.PMULL, newHCTR2Asm},
	{"adiantum(xchacha12,aes)", "adiantum-neon-ce", 350, cpufeat.ASIMD | cpufeat.AES, newAdiantumNEONCE},
	{"adiantum(xchacha12,aes)", "adiantum-neon", 300, cpufeat.ASIMD, newAdiantumNEON},
}
