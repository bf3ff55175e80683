package cpufeat

// A feature is one row of an architecture's table.
type feature struct {
	bit   Set
	name  string // as in /proc/cpuinfo
	word  word   // where the machine reports it,
	pos   uint   // and the bit therein
	needs Set    // without any of which it cannot be used
}

// A word is one of the registers of bits in which a machine reports features.
type word int

const (
	nowhere    word = iota // not a bit of the machine, but a conclusion of ours
	leaf1EDX               // CPUID leaf 1
	leaf1ECX               //
	leaf7EBX               // CPUID leaf 7, sub-leaf 0
	leaf7ECX               //
	leaf7s1EAX             // CPUID leaf 7, sub-leaf 1
	hwcap                  // AT_HWCAP in the auxiliary vector
	hwcap2                 // AT_HWCAP2
	numWords
)

// amd64Features has the features of amd64. Bits are from the Intel 64 and IA-32
// Architectures Software Developer's Manual, volume 2, CPUID; names from Linux,
// arch/x86/include/asm/cpufeatures.h, save for osxsave and prefer_ymm, which
// Linux does not print.
//
// The needs are what the manual's volume 1, chapters 13 to 15, has a program
// test before the first use, with two additions that all CPUs agree with: the
// SSE versions form a chain, and wider forms (VAES, VPCLMULQDQ) need their
// narrow one. AES, PCLMULQDQ, GFNI and SHA have encodings without VEX, which
// use XMM registers only: they need no XSAVE.
var amd64Features = []feature{
	{SSE2, "sse2", leaf1EDX, 26, 0},
	{SSE3, "pni", leaf1ECX, 0, SSE2},
	{SSSE3, "ssse3", leaf1ECX, 9, SSE3},
	{SSE41, "sse4_1", leaf1ECX, 19, SSSE3},
	{SSE42, "sse4_2", leaf1ECX, 20, SSE41},
	{PCLMULQDQ, "pclmulqdq", leaf1ECX, 1, SSE2},
	{AES, "aes", leaf1ECX, 25, SSE2},
	{GFNI, "gfni", leaf7ECX, 8, SSE2},
	{SHANI, "sha_ni", leaf7EBX, 29, SSE2},

	{MOVBE, "movbe", leaf1ECX, 22, 0},
	{BMI1, "bmi1", leaf7EBX, 3, 0},
	{BMI2, "bmi2", leaf7EBX, 8, 0},
	{ADX, "adx", leaf7EBX, 19, 0},

	// XSAVE is undefined until the system sets CR4.OSXSAVE, which CPUID shows
	// as OSXSAVE.
	{XSAVE, "xsave", leaf1ECX, 26, OSXSAVE},
	{OSXSAVE, "osxsave", leaf1ECX, 27, XSAVE},

	{AVX, "avx", leaf1ECX, 28, SSE42 | OSXSAVE},
	{FMA, "fma", leaf1ECX, 12, AVX},
	{AVX2, "avx2", leaf7EBX, 5, AVX},
	{VAES, "vaes", leaf7ECX, 9, AES | AVX2},
	{VPCLMULQDQ, "vpclmulqdq", leaf7ECX, 10, PCLMULQDQ | AVX2},
	{SHA512, "sha512", leaf7s1EAX, 0, AVX2},
	{SM3, "sm3", leaf7s1EAX, 1, AVX2},
	{SM4, "sm4", leaf7s1EAX, 2, AVX2},

	{AVX512F, "avx512f", leaf7EBX, 16, AVX2},
	{AVX512DQ, "avx512dq", leaf7EBX, 17, AVX512F},
	{AVX512CD, "avx512cd", leaf7EBX, 28, AVX512F},
	{AVX512BW, "avx512bw", leaf7EBX, 30, AVX512F},
	{AVX512VL, "avx512vl", leaf7EBX, 31, AVX512F},
	{AVX512IFMA, "avx512ifma", leaf7EBX, 21, AVX512F},
	{AVX512VBMI, "avx512vbmi", leaf7ECX, 1, AVX512F},
	{AVX512VBMI2, "avx512_vbmi2", leaf7ECX, 6, AVX512F},
	{AVX512VNNI, "avx512_vnni", leaf7ECX, 11, AVX512F},
	{AVX512BITALG, "avx512_bitalg", leaf7ECX, 12, AVX512F},
	{AVX512VPOPCNTDQ, "avx512_vpopcntdq", leaf7ECX, 14, AVX512F},
	{PreferYMM, "prefer_ymm", nowhere, 0, AVX512F},
}

// arm64Features has the features of arm64. Bits and names are from Linux,
// arch/arm64/include/uapi/asm/hwcap.h and arch/arm64/kernel/cpuinfo.c. The
// needs are those of the Arm Architecture Reference Manual, where a value of a
// field in ID_AA64ISAR0_EL1 or ID_AA64ZFR0_EL1 includes the lower ones.
var arm64Features = []feature{
	{FP, "fp", hwcap, 0, 0},
	{ASIMD, "asimd", hwcap, 1, FP},
	{AES, "aes", hwcap, 3, ASIMD},
	{PMULL, "pmull", hwcap, 4, AES},
	{SHA1, "sha1", hwcap, 5, ASIMD},
	{SHA2, "sha2", hwcap, 6, ASIMD},
	{SHA512, "sha512", hwcap, 21, SHA2},
	{SHA3, "sha3", hwcap, 17, ASIMD},
	{SM3, "sm3", hwcap, 18, ASIMD},
	{SM4, "sm4", hwcap, 19, ASIMD},
	{CRC32, "crc32", hwcap, 7, 0},
	{SVE, "sve", hwcap, 22, ASIMD},
	{SVE2, "sve2", hwcap2, 1, SVE},
	{SVEAES, "sveaes", hwcap2, 2, SVE2},
	{SVEPMULL, "svepmull", hwcap2, 3, SVEAES},
	{SVESHA3, "svesha3", hwcap2, 5, SVE2},
	{SVESM4, "svesm4", hwcap2, 6, SVE2},
}

// A group is a name for several features, or a second name for one.
type group struct {
	name string
	set  Set
}

var (
	amd64Groups = []group{
		{"avx512", AVX512},
		{"sse3", SSE3},
		{"sse4.1", SSE41},
		{"sse4.2", SSE42},
	}
	arm64Groups = []group{
		{"neon", ASIMD},
	}
)

func featuresOf(arch string) []feature {
	switch arch {
	case "amd64":
		return amd64Features
	case "arm64":
		return arm64Features
	}
	return nil
}

func groupsOf(arch string) []group {
	switch arch {
	case "amd64":
		return amd64Groups
	case "arm64":
		return arm64Groups
	}
	return nil
}

// all returns the Set of all features in table.
func all(table []feature) Set {
	var s Set
	for _, f := range table {
		s |= f.bit
	}
	return s
}

// dependents returns f with all that needs a feature of it, directly or not, on
// any architecture.
func dependents(f Set) Set {
	for {
		before := f
		for _, table := range [][]feature{amd64Features, arm64Features} {
			for _, row := range table {
				if row.needs&f != 0 {
					f |= row.bit
				}
			}
		}
		if f == before {
			return f
		}
	}
}

// roots returns the features in cleared because of which those in f had to go along:
// what they depend on that itself depends on nothing else in cleared.
func roots(cleared, f Set) Set {
	var s Set
	for _, table := range [][]feature{amd64Features, arm64Features} {
		for _, row := range table {
			along := dependents(row.bit)
			if cleared.Has(row.bit) && along&f != 0 && row.needs&cleared&^along == 0 {
				s |= row.bit
			}
		}
	}
	return s
}

// reported returns the features of table whose bits are set in words.
func reported(table []feature, words [numWords]uint64) Set {
	var s Set
	for _, f := range table {
		if f.word != nowhere && words[f.word]>>f.pos&1 != 0 {
			s |= f.bit
		}
	}
	return s
}
