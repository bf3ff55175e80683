//go:build !purego

package decrypt

import "encfs/cpufeat"

// assemblyDrivers are the drivers that need arm64.
var assemblyDrivers = []Driver{
	{"adiantum(xchacha12,aes)", "adiantum-neon", 300, cpufeat.ASIMD, newAdiantumNEON},
}
