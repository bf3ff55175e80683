package cpufeat

// A Detection is what the machine reported and what of it is usable. It is
// made once and not changed; reading it concurrently is safe.
type Detection struct {
	Arch     string // GOARCH
	OS       string // GOOS
	Reported Set    // what the CPU, or on arm64 the kernel, reports
	Features Set    // what a program may use: Reported without all Withheld
	Withheld []Withheld
}

// Withheld is what one cause takes away from what is reported.
type Withheld struct {
	Features Set
	Cause    string // completes "avx2 is not usable: "
}

// Host returns the features that a program may use on this machine: on amd64
// by CPUID and XGETBV, on arm64 by the kernel's AT_HWCAP and AT_HWCAP2. It is
// empty on other architectures and with the build tag purego.
func Host() Set { return Detect().Features }
