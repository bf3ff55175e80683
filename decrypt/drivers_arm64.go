//go:build !purego

package decrypt

import "encfs/cpufeat"

// assemblyDrivers are the drivers that need arm64.
var assemblyDrivers = []Driver{
	{"xts(aes)", "xts-aes-ce", 300, cpufeat.AES, newXTSCE},
}
