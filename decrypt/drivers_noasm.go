//go:build purego || !(amd64 || arm64)

package decrypt

// assemblyDrivers is empty: only the portable drivers run here.
var assemblyDrivers []Driver
