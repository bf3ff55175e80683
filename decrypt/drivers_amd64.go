//go:build !purego

package decrypt

// assemblyDrivers are the drivers that need amd64.
var assemblyDrivers []Driver
