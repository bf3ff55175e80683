//go:build !purego

package cpufeat

import "runtime"

// Detect asks the CPU, by CPUID and XGETBV, for its features and for what the
// operating system has enabled of them. It is our own rather than that of
// golang.org/x/sys/cpu, which reports VAES and VPCLMULQDQ only together with
// AVX-512, so that CPUs that have them for YMM registers, such as Zen 3, would
// appear to lack them.
func Detect() Detection { return detectAMD64(runtime.GOOS, cpuid, xgetbv) }

// cpuid executes CPUID.
//
//go:noescape
func cpuid(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)

// xgetbv returns XCR0. It faults unless CPUID reports XSAVE and OSXSAVE.
//
//go:noescape
func xgetbv() uint64
