//go:build purego || !(amd64 || (arm64 && (linux || darwin)))

package cpufeat

import "runtime"

// Detect returns a Detection with nothing in it: this build has no assembly
// that could use a feature.
func Detect() Detection {
	return Detection{Arch: runtime.GOARCH, OS: runtime.GOOS}
}
