package cpufeat

import "testing"

// Words of the auxiliary vector, after arch/arm64/include/uapi/asm/hwcap.h.
const (
	// Cortex-A72 of the Raspberry Pi 4: fp asimd evtstrm crc32 cpuid.
	hwcapPi4 = 1<<0 | 1<<1 | 1<<2 | 1<<7 | 1<<11
	// Neoverse N1: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp
	// asimdhp cpuid asimdrdm lrcpc dcpop asimddp ssbs.
	hwcapN1 = 0x1119fff
)

func TestDetectHWCAP(t *testing.T) {
	n1 := FP | ASIMD | AES | PMULL | SHA1 | SHA2 | CRC32
	tests := []struct {
		name string
		auxv [][2]uintptr
		want Set
		tier string
	}{
		{"no vector", nil, 0, "generic"},
		{"words of 0", [][2]uintptr{{16, 0}, {26, 0}}, 0, "generic"},
		{"no such words", [][2]uintptr{{6, 4096}, {33, 0xffff}, {0, 0}}, 0, "generic"},
		{"Raspberry Pi 4", [][2]uintptr{{16, hwcapPi4}, {26, 0}}, FP | ASIMD | CRC32, "neon"},
		{"Neoverse N1", [][2]uintptr{{33, 0xffff}, {16, hwcapN1}, {6, 4096}, {26, 0}}, n1, "ce"},
		{"SHA-3, SHA-512, SM3, SM4", [][2]uintptr{{16, hwcapN1 | 1<<17 | 1<<21 | 1<<18 | 1<<19}},
			n1 | SHA3 | SHA512 | SM3 | SM4, "ce"},
		{"SVE2", [][2]uintptr{{16, hwcapN1 | 1<<22}, {26, 1<<1 | 1<<2 | 1<<3 | 1<<5 | 1<<6}},
			n1 | SVE | SVE2 | SVEAES | SVEPMULL | SVESHA3 | SVESM4, "ce"},
		{"SVE2 without SVE", [][2]uintptr{{16, hwcapN1}, {26, 1<<1 | 1<<2}}, n1, "ce"},
		{"only the second word", [][2]uintptr{{16, 0}, {26, 1<<1 | 1<<2}}, 0, "generic"},
		{"AES without ASIMD", [][2]uintptr{{16, hwcapN1 &^ (1 << 1)}}, FP | CRC32, "generic"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := detectHWCAP("linux", tt.auxv)
			if d.Features != tt.want {
				t.Errorf("got %v, want %v", d.Features, tt.want)
			}
			if got := d.Features.tier(arm64Tiers); got.Name != tt.tier {
				t.Errorf("got tier %s, want %s", got.Name, tt.tier)
			}
			checkDetection(t, d, arm64Features)
		})
	}
}

func TestDetectApple(t *testing.T) {
	d := detectApple("darwin")
	checkDetection(t, d, arm64Features)
	if got := d.Features.tier(arm64Tiers); got.Name != "ce" {
		t.Errorf("got tier %s, want ce", got.Name)
	}
}
