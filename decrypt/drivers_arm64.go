//go:build !purego

package decrypt

// assemblyDrivers are the drivers that need arm64.
var assemblyDrivers []Driver
