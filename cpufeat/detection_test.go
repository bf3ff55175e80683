package cpufeat

import "testing"

func TestExplain(t *testing.T) {
	const (
		aesniAVX   = SSSE3 | AES | AVX
		vaesAVX2   = AES | AVX2 | VAES | VPCLMULQDQ
		vaesAVX512 = VAES | AVX512BW | AVX512VL
	)
	tests := []struct {
		name  string
		d     Detection
		needs Set
		clear Set
		want  string
	}{
		{"nothing needed", machine{}.detect(t), 0, 0, ""},
		{"usable", zen4.detect(t), vaesAVX512, 0, ""},
		{"usable though it prefers YMM", iceLake.detect(t), vaesAVX512, 0, ""},
		{"noxsave, one feature", haswell.with(func(m *machine) { m.ecx1 &^= ecx1OSXSAVE }).detect(t), AES | AVX, 0,
			"aes is there, but avx is not usable: the operating system has not enabled XSAVE (OSXSAVE is clear)"},
		{"noxsave, some there", haswell.with(func(m *machine) { m.ecx1 &^= ecx1OSXSAVE }).detect(t), aesniAVX, 0,
			"ssse3 and aes are there, but avx is not usable: the operating system has not enabled XSAVE (OSXSAVE is clear)"},
		{"OSXSAVE without XSAVE", haswell.with(func(m *machine) { m.ecx1 &^= ecx1XSAVE }).detect(t), AVX, 0,
			"avx is not usable: xsave is needed, which CPUID does not report"},
		{"YMM off", zen3.with(func(m *machine) { m.xcr0 = 3 }).detect(t), vaesAVX2, 0,
			"aes is there, but avx2, vaes and vpclmulqdq are not usable: the operating system has not enabled YMM registers (XCR0 is 0x3)"},
		{"ZMM off", zen4.with(func(m *machine) { m.xcr0 = 7 }).detect(t), vaesAVX512, 0,
			"vaes is there, but avx512bw and avx512vl are not usable: the operating system has not enabled ZMM registers (XCR0 is 0x7)"},
		{"macOS", iceLake.with(func(m *machine) { m.os = "darwin" }).detect(t), vaesAVX512, 0,
			"vaes is there, but avx512bw and avx512vl are not usable: macOS enables ZMM registers only on a thread's first use of them"},
		{"not there", zen3.detect(t), vaesAVX512, 0,
			"vaes is there, but CPUID does not report avx512bw and avx512vl"},
		{"hidden", haswell.with(func(m *machine) { m.ecx1 &^= ecx1AES; m.ecx1 |= ecx1Hypervisor }).detect(t), SSSE3 | AES, 0,
			"ssse3 is there, but CPUID does not report aes (a virtual machine may hide features)"},
		{"hidden below", zen3.with(func(m *machine) { m.ecx1 &^= ecx1AES }).detect(t), AES | VAES, 0,
			"vaes is not usable: aes is needed, which CPUID does not report; CPUID does not report aes"},
		{"no leaf 7", haswell.with(func(m *machine) { m.maxLeaf = 4 }).detect(t), AVX | AVX2, 0,
			"avx is there, but CPUID does not report avx2 (it ends at leaf 4, before the 7 that would)"},
		{"no leaf 7, but not of it", westmere.with(func(m *machine) { m.maxLeaf = 4 }).detect(t), AVX, 0,
			"CPUID does not report avx"},
		{"cleared", zen4.detect(t), vaesAVX2, AVX2,
			"aes is there, but avx2, vaes and vpclmulqdq are cleared by choice"},
		{"cleared with what it depends on", zen4.detect(t), aesniAVX, OSXSAVE,
			"ssse3 and aes are there, but avx is cleared by choice, with xsave and osxsave"},
		{"cleared for several reasons", zen4.detect(t), vaesAVX512, AVX512F | AES,
			"vaes, avx512bw and avx512vl are cleared by choice, with aes and avx512f"},
		{"cleared and not there", zen3.detect(t), AES | AVX512F, AES,
			"CPUID does not report avx512f; aes is cleared by choice"},
		{"arm64", detectHWCAP("linux", [][2]uintptr{{16, hwcapPi4}}), ASIMD | AES, 0,
			"asimd is there, but AT_HWCAP does not report aes"},
		{"arm64, names in its own order", detectHWCAP("linux", [][2]uintptr{{16, hwcapN1}}), ASIMD | AES | SHA512, 0,
			"asimd and aes are there, but AT_HWCAP does not report sha512"},
		{"no detection", Detection{Arch: "riscv64", OS: "linux"}, AES, 0,
			"this build detects no features on riscv64, and aes is needed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.d.Explain(tt.needs, tt.d.Features.Clear(tt.clear)); got != tt.want {
				t.Errorf("\n got %q\nwant %q", got, tt.want)
			}
		})
	}
}

// TestExplainAgrees asks of every machine and tier whether it says something
// exactly if the tier cannot run.
func TestExplainAgrees(t *testing.T) {
	for _, tt := range machines {
		d := tt.m.detect(t)
		for _, tier := range amd64Tiers {
			runs := d.Features.Has(tier.Needs)
			if got := d.Explain(tier.Needs, d.Features); (got == "") != runs {
				t.Errorf("%s, %s: runs %v, explained by %q", tt.name, tier.Name, runs, got)
			}
		}
	}
}
