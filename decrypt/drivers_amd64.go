//go:build !purego

package decrypt

import "encfs/cpufeat"

// assemblyDrivers are the drivers that need amd64.
var assemblyDrivers = []Driver{
	{"adiantum(xchacha12,aes)", "adiantum-avx2", 300, cpufeat.AVX2, newAdiantumAVX2},
}
