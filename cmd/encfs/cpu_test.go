package main

import (
	"strings"
	"testing"

	"encfs/cpufeat"
)

// A machine whose operating system has not enabled XSAVE has AES-NI but no AVX, and is
// told so.
func TestDescribeCPU(t *testing.T) {
	const (
		sse = cpufeat.SSE2 | cpufeat.SSE3 | cpufeat.SSSE3 | cpufeat.SSE41 | cpufeat.SSE42
		aes = sse | cpufeat.AES
		avx = cpufeat.XSAVE | cpufeat.AVX
		all = aes | avx | cpufeat.OSXSAVE
	)
	tiers := []cpufeat.Tier{
		{Name: "generic"},
		{Name: "aesni", Needs: cpufeat.SSSE3 | cpufeat.AES},
		{Name: "aesni-avx", Needs: cpufeat.SSSE3 | cpufeat.AES | cpufeat.AVX},
	}
	for _, tt := range []struct {
		name  string
		d     cpufeat.Detection
		clear cpufeat.Set
		want  []string // lines
		not   string
	}{
		{
			name: "noxsave",
			d: cpufeat.Detection{
				Arch: "amd64", OS: "linux", Source: "CPUID", Reported: aes | avx, Features: aes,
				Withheld: []cpufeat.Withheld{{Features: avx, Cause: "the operating system has not enabled XSAVE (OSXSAVE is clear)"}},
				CPUID:    cpufeat.CPUID{MaxLeaf: 13, Vendor: "GenuineIntel", Family: 6, Model: 60, Stepping: 3, Hypervisor: true},
			},
			want: []string{
				"source    CPUID",
				"cpu       GenuineIntel family 6 model 60 stepping 3, in a virtual machine",
				"osxsave   clear",
				"xcr0      cannot be read",
				"withheld  xsave,avx: the operating system has not enabled XSAVE (OSXSAVE is clear)",
				"tier      aesni",
				"next      aesni-avx: ssse3 and aes are there, but avx is not usable: the operating system has not enabled XSAVE (OSXSAVE is clear)",
			},
			not: "cleared",
		},
		{
			name: "all",
			d: cpufeat.Detection{
				Arch: "amd64", OS: "linux", Source: "CPUID", Reported: all, Features: all, ReadXCR0: true, XCR0: 7,
				CPUID: cpufeat.CPUID{MaxLeaf: 7, Vendor: "AuthenticAMD", Family: 25, Model: 17, Stepping: 1},
			},
			want: []string{
				"cpu       AuthenticAMD family 25 model 17 stepping 1",
				"osxsave   set",
				"xcr0      0x7",
				"tier      aesni-avx",
				"next      none: this is the highest",
			},
			not: "withheld",
		},
		{
			name:  "cleared",
			d:     cpufeat.Detection{Arch: "amd64", OS: "linux", Source: "CPUID", Reported: all, Features: all, ReadXCR0: true, XCR0: 7},
			clear: cpufeat.OSXSAVE,
			want: []string{
				"cleared   xsave,osxsave,avx",
				"tier      aesni",
				"next      aesni-avx: ssse3 and aes are there, but avx is cleared by choice, with xsave and osxsave",
			},
			not: "withheld",
		},
		{
			name: "arm64",
			d:    cpufeat.Detection{Arch: "arm64", OS: "linux", Source: "AT_HWCAP", HWCAP: 0x83, HWCAP2: 0},
			want: []string{"source    AT_HWCAP", "hwcap     0x83", "hwcap2    0x0", "reported  none", "usable    none"},
			not:  "osxsave",
		},
		{
			name: "nothing",
			d:    cpufeat.Detection{Arch: "riscv64", OS: "linux"},
			want: []string{"source    none: this build for riscv64 detects nothing", "driver    adiantum-generic for adiantum(xchacha12,aes)"},
			not:  "hwcap",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.d.Source == "CPUID" && cpufeat.Tiers()[len(cpufeat.Tiers())-1].Name != "vaes-avx512" {
				t.Skip("tiers and names of amd64 need amd64")
			}
			s, err := describeCPU(tt.d, tt.clear, tiers)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			if err := s.print(&b); err != nil {
				t.Fatal(err)
			}
			for _, line := range tt.want {
				if !strings.Contains("\n"+b.String(), "\n"+line+"\n") {
					t.Errorf("no line %q in\n%s", line, &b)
				}
			}
			if strings.Contains(b.String(), "\n"+tt.not) {
				t.Errorf("a line %q in\n%s", tt.not, &b)
			}
		})
	}
}
