//go:build (linux || darwin) && !purego

package cpufeat

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Detect asks the kernel for the features of the CPU: on Linux by AT_HWCAP and
// AT_HWCAP2. On macOS they are those that all of Apple's CPUs have.
func Detect() Detection {
	if runtime.GOOS == "darwin" {
		return detectApple(runtime.GOOS)
	}
	// The runtime's copy of the vector: /proc/self/auxv cannot be read once
	// the process is not dumpable. An error leaves it empty, and thus the Set.
	auxv, _ := unix.Auxv()
	return detectHWCAP(runtime.GOOS, auxv)
}
