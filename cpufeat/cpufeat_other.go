package cpufeat

import "runtime"

// Detect returns a Detection with nothing in it: there is no assembly for this
// machine, or none in this build.
func Detect() Detection {
	return Detection{Arch: runtime.GOARCH, OS: runtime.GOOS}
}
