package cpufeat

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Bits of XCR0, of the Intel manual's volume 1, section 13.1. The operating
// system sets those of the registers that it saves and restores; the
// instructions on registers without their bits fault.
const (
	xcr0YMM = 1<<1 | 1<<2      // XMM, upper halves of YMM
	xcr0ZMM = xcr0YMM | 0x7<<5 // mask registers, upper halves of ZMM0 to 15, ZMM16 to 31
)

// detectAMD64 finds the features of an amd64 machine on which cpuid and xgetbv
// stand for the instructions; xgetbv returns XCR0. It calls cpuid only for
// leaves and sub-leaves that are there, and xgetbv only if CPUID reports both
// XSAVE and OSXSAVE: it is undefined otherwise, and a hypervisor that hides
// XSAVE may well leave the other bit set.
func detectAMD64(os string, cpuid func(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32), xgetbv func() uint64) Detection {
	d := Detection{Arch: "amd64", OS: os, Source: "CPUID"}

	var words [numWords]uint64
	maxLeaf, b, c, dx := cpuid(0, 0)
	d.CPUID.MaxLeaf = maxLeaf
	d.CPUID.Vendor = vendor(b, dx, c)
	if maxLeaf >= 1 {
		a, _, c, dx := cpuid(1, 0)
		words[leaf1ECX], words[leaf1EDX] = uint64(c), uint64(dx)
		d.CPUID.setSignature(a)
		d.CPUID.Hypervisor = c>>31 != 0
	}
	if maxLeaf >= 7 {
		maxSubleaf, b, c, _ := cpuid(7, 0)
		words[leaf7EBX], words[leaf7ECX] = uint64(b), uint64(c)
		if maxSubleaf >= 1 {
			a, _, _, _ := cpuid(7, 1)
			words[leaf7s1EAX] = uint64(a)
		}
	}
	d.Reported = reported(amd64Features, words)
	if d.Reported.Has(AVX512F) && d.CPUID.slowZMM() {
		d.Reported |= PreferYMM
	}
	d.Features = d.Reported

	if d.Reported.Has(XSAVE) && !d.Reported.Has(OSXSAVE) {
		d.withhold(OSXSAVE, "the operating system has not enabled XSAVE (OSXSAVE is clear)")
	}
	d.withholdIncomplete(amd64Features)
	if d.Features.Has(XSAVE | OSXSAVE) {
		d.ReadXCR0 = true
		d.XCR0 = xgetbv()
		if d.XCR0&xcr0YMM != xcr0YMM {
			d.withhold(AVX, fmt.Sprintf("the operating system has not enabled YMM registers (XCR0 is %#x)", d.XCR0))
		}
		if os == "darwin" {
			// XCR0 tells nothing there, and the switching damaged mask
			// registers for some years: golang/go issues 43089 and 49233.
			d.withhold(AVX512F, "macOS enables ZMM registers only on a thread's first use of them")
		}
		if d.XCR0&xcr0ZMM != xcr0ZMM {
			d.withhold(AVX512F, fmt.Sprintf("the operating system has not enabled ZMM registers (XCR0 is %#x)", d.XCR0))
		}
	}
	return d
}

// vendor returns the twelve letters that leaf 0 has in these registers.
func vendor(ebx, edx, ecx uint32) string {
	var name []byte
	for _, r := range []uint32{ebx, edx, ecx} {
		name = binary.LittleEndian.AppendUint32(name, r)
	}
	return string(name)
}

// setSignature sets family, model and stepping from EAX of leaf 1, as Linux
// does in arch/x86/lib/cpu.c.
func (c *CPUID) setSignature(eax uint32) {
	c.Stepping = int(eax & 0xf)
	c.Model = int(eax >> 4 & 0xf)
	c.Family = int(eax >> 8 & 0xf)
	if c.Family == 15 {
		c.Family += int(eax >> 20 & 0xff)
	}
	if c.Family >= 6 {
		c.Model |= int(eax>>16&0xf) << 4
	}
}

// slowZMMModels are the models of Intel's family 6 that lower their clock while
// ZMM registers are in use. They are those for which arch/x86/kernel/cpu/intel.c
// sets X86_FEATURE_PREFER_YMM; Rocket Lake, Sapphire Rapids and what followed
// are not among them, nor is any CPU of AMD.
var slowZMMModels = []int{
	0x55,                   // Skylake-X; Cascade Lake and Cooper Lake too
	0x6a, 0x6c, 0x7d, 0x7e, // Ice Lake
	0x9d,       // Ice Lake NNPI
	0x8c, 0x8d, // Tiger Lake
}

func (c CPUID) slowZMM() bool {
	return c.Vendor == "GenuineIntel" && c.Family == 6 && slices.Contains(slowZMMModels, c.Model)
}
