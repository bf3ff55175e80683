package cpufeat

import (
	"runtime"
	"slices"
)

// A Tier is a step of the ladder that drivers are written for. Its name is the
// ending that Linux gives to such drivers: "vaes-avx2" as in
// "xts-aes-vaes-avx2". Every tier needs all that the one below it needs.
//
// Tiers are for showing and explaining. A driver states its own needs, which
// may be more than those of its tier, such as PCLMULQDQ, or less.
type Tier struct {
	Name  string
	Needs Set
}

// The needs are those that the kernel tests before it registers the drivers of
// a tier: register_avx_algs in arch/x86/crypto/aesni-intel_glue.c.
var amd64Tiers = []Tier{
	{"generic", 0},
	{"ssse3", SSSE3},
	{"aesni", SSSE3 | AES},
	{"aesni-avx", SSSE3 | AES | AVX},
	{"vaes-avx2", SSSE3 | AES | AVX | AVX2 | PCLMULQDQ | VAES | VPCLMULQDQ},
	{"vaes-avx512", SSSE3 | AES | AVX | AVX2 | PCLMULQDQ | VAES | VPCLMULQDQ |
		AVX512F | AVX512BW | AVX512VL | BMI2},
}

// "ce" is the ARMv8 Cryptographic Extension.
var arm64Tiers = []Tier{
	{"generic", 0},
	{"neon", ASIMD},
	{"ce", ASIMD | AES},
}

func tiersOf(arch string) []Tier {
	switch arch {
	case "amd64":
		return amd64Tiers
	case "arm64":
		return arm64Tiers
	}
	return []Tier{{"generic", 0}}
}

// Tiers returns the tiers of this architecture from "generic", which needs
// nothing, upwards. The caller may change the slice.
func Tiers() []Tier { return slices.Clone(tiersOf(runtime.GOARCH)) }

// Tier returns the tier to use with the features in s: the highest of this
// architecture that can run with them, other than one of ZMM registers if s
// has PreferYMM.
func (s Set) Tier() Tier { return s.tier(tiersOf(runtime.GOARCH)) }

func (s Set) tier(tiers []Tier) Tier {
	best := tiers[0]
	for _, t := range tiers {
		if s.Has(t.Needs) && !(t.Needs.Has(AVX512F) && s.Has(PreferYMM)) {
			best = t
		}
	}
	return best
}
