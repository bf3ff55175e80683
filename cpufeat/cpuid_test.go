package cpufeat

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// A machine is what CPUID and XGETBV answer.
type machine struct {
	os         string // linux if empty
	vendor     string
	maxLeaf    uint32
	signature  uint32 // leaf 1
	ecx1, edx1 uint32
	maxSubleaf uint32 // leaf 7
	ebx7, ecx7 uint32
	eax7s1     uint32 // leaf 7, sub-leaf 1
	xcr0       uint64
}

// Bits that machines below set and clear, as in the Intel manual.
const (
	ecx1AES        = 1 << 25
	ecx1XSAVE      = 1 << 26
	ecx1OSXSAVE    = 1 << 27
	ecx1AVX        = 1 << 28
	ecx1Hypervisor = 1 << 31
	ebx7AVX2       = 1 << 5
	ebx7BMI2       = 1 << 8
)

// detect runs the detection on m, and fails the test if that executes an
// instruction that is undefined there or asks for a leaf that m does not have:
// for such an Intel's CPUID answers with the last leaf's registers, features
// included.
func (m machine) detect(t *testing.T) Detection {
	t.Helper()
	os := m.os
	if os == "" {
		os = "linux"
	}
	cpuid := func(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32) {
		switch {
		case leaf == 0 && subleaf == 0:
			var v [12]byte
			copy(v[:], m.vendor)
			return m.maxLeaf, binary.LittleEndian.Uint32(v[0:]),
				binary.LittleEndian.Uint32(v[8:]), binary.LittleEndian.Uint32(v[4:])
		case leaf > m.maxLeaf:
		case leaf == 1 && subleaf == 0:
			return m.signature, 0, m.ecx1, m.edx1
		case leaf == 7 && subleaf == 0:
			return m.maxSubleaf, m.ebx7, m.ecx7, 0
		case leaf == 7 && subleaf == 1 && m.maxSubleaf >= 1:
			return m.eax7s1, 0, 0, 0
		}
		t.Fatalf("CPUID asked for leaf %d, sub-leaf %d, with leaves to %d and sub-leaves of 7 to %d",
			leaf, subleaf, m.maxLeaf, m.maxSubleaf)
		return
	}
	xgetbv := func() uint64 {
		if m.maxLeaf < 1 || m.ecx1&ecx1XSAVE == 0 || m.ecx1&ecx1OSXSAVE == 0 {
			t.Fatalf("XGETBV executed, with ECX of leaf 1 at %#x", m.ecx1)
		}
		return m.xcr0
	}
	return detectAMD64(os, cpuid, xgetbv)
}

// with returns m changed by f.
func (m machine) with(f func(*machine)) machine {
	f(&m)
	return m
}

// CPUs on which Linux enables all registers. That of Zen 4 is recorded in a
// virtual machine; the others are put together from the features that
// /proc/cpuinfo shows on such a CPU, with the bits of other features as they
// usually are.
var (
	k8 = machine{vendor: "AuthenticAMD", maxLeaf: 1, signature: 0x00000f4a, edx1: 0x078bfbff}

	penryn = machine{vendor: "GenuineIntel", maxLeaf: 13, signature: 0x0001067a,
		ecx1: 0x0c08e3fd, edx1: 0xbfebfbff, xcr0: 0x3}

	westmere = machine{vendor: "GenuineIntel", maxLeaf: 11, signature: 0x000206c2,
		ecx1: 0x029ee3ff, edx1: 0xbfebfbff}

	sandyBridge = machine{vendor: "GenuineIntel", maxLeaf: 13, signature: 0x000206a7,
		ecx1: 0x1fbae3ff, edx1: 0xbfebfbff, xcr0: 0x7}

	haswell = machine{vendor: "GenuineIntel", maxLeaf: 13, signature: 0x000306c3,
		ecx1: 0x7ffafbff, edx1: 0xbfebfbff, ebx7: 0x000027ab, xcr0: 0x7}

	skylakeX = machine{vendor: "GenuineIntel", maxLeaf: 22, signature: 0x00050654,
		ecx1: 0x7ffefbff, edx1: 0xbfebfbff, ebx7: 0xd39ffffb, xcr0: 0x2ff}

	iceLake = machine{vendor: "GenuineIntel", maxLeaf: 27, signature: 0x000706e5,
		ecx1: 0x7ffafbbf, edx1: 0xbfebfbff, ebx7: 0xf2bf27ef, ecx7: 0x40405f4e, xcr0: 0x2e7}

	arrowLake = machine{vendor: "GenuineIntel", maxLeaf: 35, signature: 0x000c0662,
		ecx1: 0x7ffafbff, edx1: 0xbfebfbff, maxSubleaf: 2, ebx7: 0x239c27eb, ecx7: 0x98c007ac,
		eax7s1: 0x00000017, xcr0: 0x207}

	zen3 = machine{vendor: "AuthenticAMD", maxLeaf: 16, signature: 0x00a20f10,
		ecx1: 0x7ed8320b, edx1: 0x178bfbff, ebx7: 0x219c97a9, ecx7: 0x0040068c, xcr0: 0x207}

	zen4 = machine{vendor: "AuthenticAMD", maxLeaf: 28, signature: 0x00a10f11,
		ecx1: 0xfffa3203, edx1: 0x178bfbff, maxSubleaf: 1, ebx7: 0xf1bf07ab, ecx7: 0x00405fc6,
		eax7s1: 0x00000020, xcr0: 0xe7}
)

// What these CPUs have, each after the one that it extends.
const (
	onPenryn      = SSE2 | SSE3 | SSSE3 | SSE41 | XSAVE | OSXSAVE
	onWestmere    = SSE2 | SSE3 | SSSE3 | SSE41 | SSE42 | AES | PCLMULQDQ
	onSandyBridge = onWestmere | XSAVE | OSXSAVE | AVX
	onHaswell     = onSandyBridge | FMA | AVX2 | BMI1 | BMI2 | MOVBE
	onSkylakeX    = onHaswell | ADX | AVX512F | AVX512DQ | AVX512CD | AVX512BW | AVX512VL | PreferYMM
	onIceLake     = onSkylakeX | SHANI | GFNI | VAES | VPCLMULQDQ | AVX512IFMA | AVX512VBMI |
		AVX512VBMI2 | AVX512VNNI | AVX512BITALG | AVX512VPOPCNTDQ
	onArrowLake = onHaswell | ADX | SHANI | GFNI | VAES | VPCLMULQDQ | SHA512 | SM3 | SM4
	onZen3      = onHaswell | ADX | SHANI | VAES | VPCLMULQDQ
	onZen4      = onIceLake &^ PreferYMM
)

var machines = []struct {
	name string
	m    machine
	want Set
	tier string
}{
	{"K8", k8, SSE2, "generic"},
	{"Penryn", penryn, onPenryn, "ssse3"},
	{"Westmere", westmere, onWestmere, "aesni"},
	{"Sandy Bridge", sandyBridge, onSandyBridge, "aesni-avx"},
	{"Haswell", haswell, onHaswell, "aesni-avx"},
	{"Skylake-X", skylakeX, onSkylakeX, "aesni-avx"},
	{"Ice Lake, which prefers YMM", iceLake, onIceLake, "vaes-avx2"},
	{"Arrow Lake, with sub-leaf 1", arrowLake, onArrowLake, "vaes-avx2"},
	{"Zen 3, VAES without AVX-512", zen3, onZen3, "vaes-avx2"},
	{"Zen 4", zen4, onZen4, "vaes-avx512"},

	{"no CPUID to speak of", machine{}, 0, "generic"},
	{"AVX2 without BMI2", haswell.with(func(m *machine) { m.ebx7 &^= ebx7BMI2 }),
		onHaswell &^ BMI2, "aesni-avx"},
	{"AVX-512 without BMI2", zen4.with(func(m *machine) { m.ebx7 &^= ebx7BMI2 }),
		onZen4 &^ BMI2, "vaes-avx2"},
	{"leaves cut to 4 by firmware", haswell.with(func(m *machine) { m.maxLeaf = 4 }),
		onSandyBridge | FMA | MOVBE, "aesni-avx"},
	{"leaves end at 6", haswell.with(func(m *machine) { m.maxLeaf = 6 }),
		onSandyBridge | FMA | MOVBE, "aesni-avx"},
	{"leaves end at 7", zen4.with(func(m *machine) { m.maxLeaf = 7 }), onZen4, "vaes-avx512"},
	{"sub-leaves end at 0", arrowLake.with(func(m *machine) { m.maxSubleaf = 0 }),
		onArrowLake &^ (SHA512 | SM3 | SM4), "vaes-avx2"},

	// The kernel's parameter noxsave: AES-NI remains.
	{"noxsave", haswell.with(func(m *machine) { m.ecx1 &^= ecx1OSXSAVE; m.ecx1 |= ecx1Hypervisor }),
		onWestmere | BMI1 | BMI2 | MOVBE, "aesni"},
	{"noxsave on Zen 4", zen4.with(func(m *machine) { m.ecx1 &^= ecx1OSXSAVE }),
		onWestmere | BMI1 | BMI2 | MOVBE | ADX | SHANI | GFNI, "aesni"},
	{"OSXSAVE without XSAVE", haswell.with(func(m *machine) { m.ecx1 &^= ecx1XSAVE }),
		onWestmere | BMI1 | BMI2 | MOVBE, "aesni"},
	{"neither XSAVE nor OSXSAVE", haswell.with(func(m *machine) { m.ecx1 &^= ecx1XSAVE | ecx1OSXSAVE }),
		onWestmere | BMI1 | BMI2 | MOVBE, "aesni"},
	{"x87 and XMM in XCR0", haswell.with(func(m *machine) { m.xcr0 = 0x3 }),
		onHaswell &^ (AVX | FMA | AVX2), "aesni"},
	{"YMM without XMM in XCR0", zen3.with(func(m *machine) { m.xcr0 = 0x5 }),
		onZen3 &^ (AVX | FMA | AVX2 | VAES | VPCLMULQDQ), "aesni"},
	{"ZMM without YMM in XCR0", zen4.with(func(m *machine) { m.xcr0 = 0xe3 }),
		onZen4 &^ ymm, "aesni"},
	{"no ZMM in XCR0", skylakeX.with(func(m *machine) { m.xcr0 = 0x7 }),
		onHaswell | ADX, "aesni-avx"},
	{"no ZMM in XCR0 of Zen 4", zen4.with(func(m *machine) { m.xcr0 = 0x7 }),
		onZen3 | GFNI, "vaes-avx2"},
	{"no mask registers in XCR0", zen4.with(func(m *machine) { m.xcr0 = 0xc7 }),
		onZen3 | GFNI, "vaes-avx2"},
	{"no ZMM16 to 31 in XCR0", zen4.with(func(m *machine) { m.xcr0 = 0x67 }),
		onZen3 | GFNI, "vaes-avx2"},
	{"no upper halves of ZMM in XCR0", zen4.with(func(m *machine) { m.xcr0 = 0xa7 }),
		onZen3 | GFNI, "vaes-avx2"},
	{"other registers in XCR0", zen4.with(func(m *machine) { m.xcr0 = 0x602e7 }),
		onZen4, "vaes-avx512"},

	{"AES hidden", haswell.with(func(m *machine) { m.ecx1 &^= ecx1AES; m.ecx1 |= ecx1Hypervisor }),
		onHaswell &^ AES, "ssse3"},
	{"AES hidden, VAES not", zen4.with(func(m *machine) { m.ecx1 &^= ecx1AES }),
		onZen4 &^ (AES | VAES), "ssse3"},
	{"AVX hidden, AVX2 and VAES not", zen3.with(func(m *machine) { m.ecx1 &^= ecx1AVX }),
		onZen3 &^ (AVX | FMA | AVX2 | VAES | VPCLMULQDQ), "aesni"},
	{"AVX2 hidden, VAES and AVX-512 not", zen4.with(func(m *machine) { m.ebx7 &^= ebx7AVX2 }),
		onZen4 &^ (AVX2 | VAES | VPCLMULQDQ | AVX512), "aesni-avx"},

	{"macOS before ZMM is on", iceLake.with(func(m *machine) { m.os = "darwin"; m.xcr0 = 0x7 }),
		onZen3 | GFNI, "vaes-avx2"},
	{"macOS after ZMM is on", iceLake.with(func(m *machine) { m.os = "darwin" }),
		onZen3 | GFNI, "vaes-avx2"},
	{"macOS on a CPU without AVX-512", haswell.with(func(m *machine) { m.os = "darwin" }),
		onHaswell, "aesni-avx"},
}

func TestDetectAMD64(t *testing.T) {
	for _, tt := range machines {
		t.Run(tt.name, func(t *testing.T) {
			d := tt.m.detect(t)
			if d.Features != tt.want {
				t.Errorf("got %v: too many %v, too few %v", d.Features, d.Features&^tt.want, tt.want&^d.Features)
			}
			if got := d.Features.tier(amd64Tiers); got.Name != tt.tier {
				t.Errorf("got tier %s, want %s", got.Name, tt.tier)
			}
			checkDetection(t, d, amd64Features)

			canRead := tt.m.maxLeaf >= 1 && tt.m.ecx1&ecx1XSAVE != 0 && tt.m.ecx1&ecx1OSXSAVE != 0
			if d.ReadXCR0 != canRead || canRead && d.XCR0 != tt.m.xcr0 {
				t.Errorf("got XCR0 %v %#x, want %v %#x", d.ReadXCR0, d.XCR0, canRead, tt.m.xcr0)
			}
		})
	}
}

// checkDetection checks what holds for every Detection: what is reported is
// either usable or withheld once, and what is usable has all that it needs.
func checkDetection(t *testing.T, d Detection, table []feature) {
	t.Helper()
	rest := d.Reported
	for _, w := range d.Withheld {
		if w.Features == 0 || w.Features&^rest != 0 || w.Cause == "" {
			t.Errorf("withheld is %v for %q, of %v", w.Features, w.Cause, rest)
		}
		rest &^= w.Features
	}
	if d.Features != rest {
		t.Errorf("usable is %v, but reported and not withheld %v", d.Features, rest)
	}
	for _, f := range table {
		if d.Features.Has(f.bit) && !d.Features.Has(f.needs) {
			t.Errorf("%s is usable without %v", f.name, f.needs&^d.Features)
		}
	}
}

// TestDetectAMD64Random feeds CPUs that make no sense.
func TestDetectAMD64Random(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		m := machine{
			os:         []string{"linux", "darwin"}[r.IntN(2)],
			vendor:     []string{"GenuineIntel", "AuthenticAMD"}[r.IntN(2)],
			maxLeaf:    r.Uint32N(10),
			signature:  []uint32{r.Uint32(), iceLake.signature}[r.IntN(2)],
			ecx1:       r.Uint32() | r.Uint32() | r.Uint32(),
			edx1:       r.Uint32() | r.Uint32() | r.Uint32(),
			maxSubleaf: r.Uint32N(3),
			ebx7:       r.Uint32() | r.Uint32(),
			ecx7:       r.Uint32() | r.Uint32(),
			eax7s1:     r.Uint32(),
			xcr0:       r.Uint64() | r.Uint64() | r.Uint64(),
		}
		checkDetection(t, m.detect(t), amd64Features)
		if t.Failed() {
			t.Fatalf("on %+v", m)
		}
	}
}

func TestCPUIDIdentity(t *testing.T) {
	tests := []struct {
		name      string
		m         machine
		want      CPUID
		preferYMM bool
	}{
		{"K8: extended model 0 of family 15", k8, CPUID{1, "AuthenticAMD", 15, 4, 10, false}, false},
		{"Skylake-X", skylakeX, CPUID{22, "GenuineIntel", 6, 0x55, 4, false}, true},
		{"Ice Lake", iceLake, CPUID{27, "GenuineIntel", 6, 0x7e, 5, false}, true},
		{"Rocket Lake", iceLake.with(func(m *machine) { m.signature = 0x000a0671 }),
			CPUID{27, "GenuineIntel", 6, 0xa7, 1, false}, false},
		{"Sapphire Rapids", iceLake.with(func(m *machine) { m.signature = 0x000806f8 }),
			CPUID{27, "GenuineIntel", 6, 0x8f, 8, false}, false},
		{"Tiger Lake", iceLake.with(func(m *machine) { m.signature = 0x000806c1 }),
			CPUID{27, "GenuineIntel", 6, 0x8c, 1, false}, true},
		{"Ice Lake server", iceLake.with(func(m *machine) { m.signature = 0x000606a6 }),
			CPUID{27, "GenuineIntel", 6, 0x6a, 6, false}, true},
		{"Tiger Lake without AVX-512", iceLake.with(func(m *machine) { m.signature = 0x000806c1; m.ebx7 = ebx7AVX2 }),
			CPUID{27, "GenuineIntel", 6, 0x8c, 1, false}, false},
		{"Haswell", haswell, CPUID{13, "GenuineIntel", 6, 0x3c, 3, false}, false},
		{"Zen 3: extended family", zen3, CPUID{16, "AuthenticAMD", 25, 0x21, 0, false}, false},
		{"Zen 4 in a virtual machine", zen4, CPUID{28, "AuthenticAMD", 25, 0x11, 1, true}, false},
		{"Zhaoxin: extended model of family 7",
			machine{vendor: "  Shanghai  ", maxLeaf: 1, signature: 0x000307b0},
			CPUID{1, "  Shanghai  ", 7, 0x3b, 0, false}, false},
		{"AMD with a model number of Ice Lake", zen4.with(func(m *machine) { m.signature = iceLake.signature }),
			CPUID{28, "AuthenticAMD", 6, 0x7e, 5, true}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := tt.m.detect(t)
			if d.CPUID != tt.want {
				t.Errorf("got %+v, want %+v", d.CPUID, tt.want)
			}
			if got := d.Features.Has(PreferYMM); got != tt.preferYMM {
				t.Errorf("got PreferYMM %v, want %v", got, tt.preferYMM)
			}
			if got := d.Reported.Has(PreferYMM); got != tt.preferYMM {
				t.Errorf("got PreferYMM reported %v, want %v", got, tt.preferYMM)
			}
		})
	}
}

// TestPlacesAMD64 compares the bits with the numbers of the kernel's
// arch/x86/include/asm/cpufeatures.h, which are 32 times a word and a bit.
func TestPlacesAMD64(t *testing.T) {
	kernelWord := map[word]int{leaf1EDX: 0, leaf1ECX: 4, leaf7EBX: 9, leaf7s1EAX: 12, leaf7ECX: 16}
	kernel := map[string]int{
		"sse2":             0*32 + 26,
		"pni":              4*32 + 0,
		"pclmulqdq":        4*32 + 1,
		"ssse3":            4*32 + 9,
		"fma":              4*32 + 12,
		"sse4_1":           4*32 + 19,
		"sse4_2":           4*32 + 20,
		"movbe":            4*32 + 22,
		"aes":              4*32 + 25,
		"xsave":            4*32 + 26,
		"osxsave":          4*32 + 27,
		"avx":              4*32 + 28,
		"bmi1":             9*32 + 3,
		"avx2":             9*32 + 5,
		"bmi2":             9*32 + 8,
		"avx512f":          9*32 + 16,
		"avx512dq":         9*32 + 17,
		"adx":              9*32 + 19,
		"avx512ifma":       9*32 + 21,
		"avx512cd":         9*32 + 28,
		"sha_ni":           9*32 + 29,
		"avx512bw":         9*32 + 30,
		"avx512vl":         9*32 + 31,
		"sha512":           12*32 + 0,
		"sm3":              12*32 + 1,
		"sm4":              12*32 + 2,
		"avx512vbmi":       16*32 + 1,
		"avx512_vbmi2":     16*32 + 6,
		"gfni":             16*32 + 8,
		"vaes":             16*32 + 9,
		"vpclmulqdq":       16*32 + 10,
		"avx512_vnni":      16*32 + 11,
		"avx512_bitalg":    16*32 + 12,
		"avx512_vpopcntdq": 16*32 + 14,
	}
	for _, f := range amd64Features {
		if f.word == nowhere {
			continue
		}
		want, ok := kernel[f.name]
		if got := kernelWord[f.word]*32 + int(f.pos); !ok || got != want {
			t.Errorf("%s: got %d*32+%d, want %d*32+%d", f.name, got/32, got%32, want/32, want%32)
		}
	}
}
