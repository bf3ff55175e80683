// Package cpufeat says which instructions the CPU offers and the operating
// system lets a program use.
//
// A Set is a set of features under the names that Linux prints in
// /proc/cpuinfo: "flags" on amd64, "Features" on arm64. Host is the Set of this
// machine, Detect also tells what it was made from and why something is not in
// it, and a Tier is a named step of the ladder that drivers are written for.
//
// Sets only ever shrink: Clear takes a feature away together with all that
// cannot be used without it, and nothing adds one. A program that passes
// Host().Clear(f) around therefore runs as on a CPU without f, and never
// executes an instruction that is not there.
//
// With the build tag purego the program has no assembly of its own, hence
// nothing to choose, and Host is the empty Set on every machine.
package cpufeat

import (
	"fmt"
	"runtime"
	"strings"
)

// A Set is a set of CPU features. The zero value is the empty Set. Features of
// all architectures have their bits on all of them, so that a table of Sets
// compiles everywhere; a feature of another architecture is never in Host.
type Set uint64

// The features. Those that amd64 and arm64 name alike, such as "aes", are one
// constant. What each depends on is in the tables amd64Features and
// arm64Features.
const (
	// amd64, the vector registers XMM. Like AES below they need nothing of the
	// operating system that not every amd64 system does.
	SSE2 Set = 1 << iota
	SSE3     // "pni", as Prescott brought it
	SSSE3
	SSE41
	SSE42
	PCLMULQDQ
	GFNI // the SSE form; the VEX and EVEX forms need AVX or AVX512F as well
	SHANI

	// amd64, general registers.
	MOVBE
	ADX
	BMI1
	BMI2

	// amd64, the instructions and the switch with which the operating system
	// preserves registers wider than XMM. Each is of use with the other only.
	XSAVE
	OSXSAVE

	// amd64, the vector registers YMM.
	AVX
	FMA
	AVX2
	VAES       // AES on YMM, and on ZMM where AVX512F is there
	VPCLMULQDQ // likewise

	// amd64, the vector registers ZMM and the mask registers.
	AVX512F
	AVX512DQ
	AVX512CD
	AVX512BW
	AVX512VL
	AVX512IFMA
	AVX512VBMI
	AVX512VBMI2
	AVX512VNNI
	AVX512BITALG
	AVX512VPOPCNTDQ

	// PreferYMM, "prefer_ymm", is advice and not an ability: the CPU has
	// AVX-512 but lowers its clock while ZMM registers are in use, so that a
	// driver with 256-bit registers is the better choice. It is the kernel's
	// X86_FEATURE_PREFER_YMM.
	PreferYMM

	// amd64 and arm64.
	AES    // AES-NI; the AES instructions of the ARMv8 Cryptographic Extension
	SHA512 // on amd64 the VEX form, which needs AVX2
	SM3    // likewise
	SM4    // likewise

	// arm64.
	FP
	ASIMD // "Neon"
	PMULL
	SHA1
	SHA2
	SHA3
	CRC32
	SVE
	SVE2
	SVEAES
	SVEPMULL
	SVESHA3
	SVESM4
)

// AVX512 is the group of all features of AVX-512.
const AVX512 = AVX512F | AVX512DQ | AVX512CD | AVX512BW | AVX512VL | AVX512IFMA |
	AVX512VBMI | AVX512VBMI2 | AVX512VNNI | AVX512BITALG | AVX512VPOPCNTDQ

// Has reports whether s has all features of f. Every Set has the empty Set.
func (s Set) Has(f Set) bool { return s&f == f }

// Clear returns s without the features of f and without all that depends on
// them: clearing AVX2 takes VAES and AVX-512 along, clearing OSXSAVE all that
// uses YMM registers, but not AES-NI. It never adds a feature.
func (s Set) Clear(f Set) Set { return s &^ dependents(f) }

// String returns the names of s, separated by commas, in the order of the
// architecture's table, narrow registers first: "ssse3,aes,avx". It is "" for
// the empty Set. Parse reads it back.
func (s Set) String() string { return strings.Join(s.names(runtime.GOARCH), ",") }

// names returns the names of s, those of an architecture first.
func (s Set) names(arch string) []string {
	var names []string
	for _, table := range [][]feature{featuresOf(arch), amd64Features, arm64Features} {
		for _, f := range table {
			if s.Has(f.bit) {
				names = append(names, f.name)
				s &^= f.bit
			}
		}
	}
	return names
}

// Parse returns the Set of the features in list, which are separated by commas:
// "aes,avx2". The names are those of /proc/cpuinfo on this architecture, in
// lower case, and those of groups, such as "avx512" for all of AVX-512. Space
// around a name is ignored, and so is an empty name; an empty list is the
// empty Set.
//
// An unknown name is an error that lists the known ones. A feature of another
// architecture is unknown too: whoever asks for it to be cleared would
// otherwise believe that it was.
func Parse(list string) (Set, error) { return parse(runtime.GOARCH, list) }

func parse(arch, list string) (Set, error) {
	var set Set
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		f, ok := byName(arch, name)
		if !ok {
			return 0, fmt.Errorf("cpufeat: unknown CPU feature %q: %s has %s",
				name, arch, strings.Join(knownNames(arch), ", "))
		}
		set |= f
	}
	return set, nil
}

// byName returns the feature or group of that name.
func byName(arch, name string) (Set, bool) {
	for _, f := range featuresOf(arch) {
		if f.name == name {
			return f.bit, true
		}
	}
	for _, g := range groupsOf(arch) {
		if g.name == name {
			return g.set, true
		}
	}
	return 0, false
}

// knownNames returns all names that Parse takes on an architecture.
func knownNames(arch string) []string {
	var names []string
	for _, f := range featuresOf(arch) {
		names = append(names, f.name)
	}
	for _, g := range groupsOf(arch) {
		names = append(names, g.name)
	}
	if len(names) == 0 {
		return []string{"none"}
	}
	return names
}
