//go:build !purego

package decrypt

import "encfs/cpufeat"

// assemblyDrivers are the drivers that need amd64.
var assemblyDrivers = []Driver{
	{"xts(aes)", "xts-aes-aesni", 401, cpufeat.AES, newXTSAESNI},
}
