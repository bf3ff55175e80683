package cpufeat

import (
	"math/bits"
	"slices"
	"strings"
	"testing"
)

// What needs YMM registers.
const ymm = AVX | FMA | AVX2 | VAES | VPCLMULQDQ | SHA512 | SM3 | SM4 | AVX512 | PreferYMM

func TestHas(t *testing.T) {
	tests := []struct {
		name string
		s, f Set
		want bool
	}{
		{"empty has empty", 0, 0, true},
		{"anything has empty", AES, 0, true},
		{"empty has nothing else", 0, AES, false},
		{"the same", AES | AVX, AES | AVX, true},
		{"part", AES | AVX, AVX, true},
		{"only part", AES, AES | AVX, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.s.Has(tt.f); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestClear(t *testing.T) {
	tests := []struct {
		arch, clear string
		taken       Set
	}{
		{"amd64", "", 0},
		{"amd64", "aes", AES | VAES},
		{"amd64", "pclmulqdq", PCLMULQDQ | VPCLMULQDQ},
		{"amd64", "gfni", GFNI},
		{"amd64", "bmi2", BMI2},
		{"amd64", "osxsave", OSXSAVE | XSAVE | ymm},
		{"amd64", "xsave", OSXSAVE | XSAVE | ymm},
		{"amd64", "avx", ymm},
		{"amd64", "fma", FMA},
		{"amd64", "avx2", ymm &^ (AVX | FMA)},
		{"amd64", "vaes", VAES},
		{"amd64", "avx512", AVX512 | PreferYMM},
		{"amd64", "avx512f", AVX512 | PreferYMM},
		{"amd64", "avx512bw", AVX512BW},
		{"amd64", "prefer_ymm", PreferYMM},
		{"amd64", "aes,bmi1", AES | VAES | BMI1},
		{"amd64", "sse4_2", SSE42 | ymm},
		{"amd64", "sse4_1", SSE41 | SSE42 | ymm},
		{"amd64", "ssse3", SSSE3 | SSE41 | SSE42 | ymm},
		{"amd64", "pni", SSE3 | SSSE3 | SSE41 | SSE42 | ymm},
		{"amd64", "sse2", all(amd64Features) &^ (MOVBE | ADX | BMI1 | BMI2 | XSAVE | OSXSAVE)},

		{"arm64", "aes", AES | PMULL},
		{"arm64", "pmull", PMULL},
		{"arm64", "sha2", SHA2 | SHA512},
		{"arm64", "sve", SVE | SVE2 | SVEAES | SVEPMULL | SVESHA3 | SVESM4},
		{"arm64", "sveaes", SVEAES | SVEPMULL},
		{"arm64", "asimd", all(arm64Features) &^ (FP | CRC32)},
		{"arm64", "fp", all(arm64Features) &^ CRC32},
	}
	for _, tt := range tests {
		t.Run(tt.arch+" "+tt.clear, func(t *testing.T) {
			f, err := parse(tt.arch, tt.clear)
			if err != nil {
				t.Fatal(err)
			}
			whole := all(featuresOf(tt.arch))
			got := whole.Clear(f)
			if want := whole &^ tt.taken; got != want {
				t.Errorf("took %v, want %v", whole&^got, tt.taken)
			}
		})
	}
}

// TestClearCloses clears every pair of features from every Set that one feature
// less than all leaves, and finds nothing left whose needs are not.
func TestClearCloses(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		table := featuresOf(arch)
		for _, a := range table {
			start := all(table).Clear(a.bit)
			for _, b := range table {
				for _, c := range table {
					got := start.Clear(b.bit | c.bit)
					if got&^start != 0 {
						t.Errorf("%s: Clear(%v,%v) added %v", arch, b.bit, c.bit, got&^start)
					}
					if got != start.Clear(b.bit).Clear(c.bit) {
						t.Errorf("%s: clearing %v and %v at once and in turn differ", arch, b.bit, c.bit)
					}
					for _, f := range table {
						if got.Has(f.bit) && !got.Has(f.needs) {
							t.Errorf("%s: Clear(%v,%v) left %s without %v", arch, b.bit, c.bit, f.name, f.needs&^got)
						}
					}
				}
			}
		}
	}
}

// TestTables checks what a new row can easily get wrong.
func TestTables(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		var seen Set
		names := make(map[string]bool)
		places := make(map[feature]string)
		for _, f := range featuresOf(arch) {
			if bits.OnesCount64(uint64(f.bit)) != 1 || seen.Has(f.bit) {
				t.Errorf("%s: %s: bit %#x is not one of its own", arch, f.name, uint64(f.bit))
			}
			if names[f.name] {
				t.Errorf("%s: the name %s occurs twice", arch, f.name)
			}
			place := feature{word: f.word, pos: f.pos}
			if other, ok := places[place]; ok {
				t.Errorf("%s: %s is reported where %s is", arch, f.name, other)
			}
			seen |= f.bit
			names[f.name] = true
			places[place] = f.name
		}
		for _, f := range featuresOf(arch) {
			if f.needs&^seen != 0 {
				t.Errorf("%s: %s needs %v, which is of another architecture", arch, f.name, f.needs&^seen)
			}
		}
		for _, g := range groupsOf(arch) {
			if names[g.name] || g.set&^seen != 0 || g.set == 0 {
				t.Errorf("%s: bad group %s", arch, g.name)
			}
			names[g.name] = true
		}
	}
}

// TestGroupAVX512 finds the group by the names of its members.
func TestGroupAVX512(t *testing.T) {
	var want Set
	for _, f := range amd64Features {
		if strings.HasPrefix(f.name, "avx512") {
			want |= f.bit
		}
	}
	if AVX512 != want {
		t.Errorf("got %v, want %v", AVX512, want)
	}
}

func TestParse(t *testing.T) {
	tests := []struct {
		name, arch, list string
		want             Set
	}{
		{"nothing", "amd64", "", 0},
		{"only commas", "amd64", " , ,", 0},
		{"one", "amd64", "aes", AES},
		{"some", "amd64", "aes,avx2", AES | AVX2},
		{"space and a comma at the end", "amd64", " aes , avx2,", AES | AVX2},
		{"twice", "amd64", "aes,aes", AES},
		{"group", "amd64", "avx512", AVX512},
		{"group with a feature", "amd64", "avx512,osxsave", AVX512 | OSXSAVE},
		{"as in /proc/cpuinfo", "amd64", "pni,sse4_1,sse4_2,sha_ni", SSE3 | SSE41 | SSE42 | SHANI},
		{"as in manuals", "amd64", "sse3,sse4.1,sse4.2", SSE3 | SSE41 | SSE42},
		{"arm64", "arm64", "aes,pmull,asimd", AES | PMULL | ASIMD},
		{"neon", "arm64", "neon", ASIMD},
		{"an architecture without features", "riscv64", "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parse(tt.arch, tt.list)
			if err != nil || got != tt.want {
				t.Errorf("got %v, %v, want %v", got, err, tt.want)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct {
		name, arch, list string
		want             []string // in the message
	}{
		{"unknown", "amd64", "aes,avx3", []string{`"avx3"`, "sse2, ", "vaes", "avx512_vbmi2", "avx512,", "sse4.1"}},
		{"upper case", "amd64", "AES", []string{`"AES"`, "aes"}},
		{"space inside", "amd64", "aes avx", []string{`"aes avx"`}},
		{"of arm64", "amd64", "asimd", []string{`"asimd"`, "amd64 has sse2"}},
		{"of amd64", "arm64", "avx2", []string{`"avx2"`, "arm64 has fp", "neon"}},
		{"none known", "riscv64", "aes", []string{`"aes"`, "riscv64 has none"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parse(tt.arch, tt.list)
			if err == nil {
				t.Fatalf("got %v, want an error", got)
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("no %s in: %v", w, err)
				}
			}
		})
	}
}

func TestString(t *testing.T) {
	tests := []struct {
		arch string
		s    Set
		want string
	}{
		{"amd64", 0, ""},
		{"amd64", AES, "aes"},
		{"amd64", AVX2 | AES | SSSE3, "ssse3,aes,avx2"},
		{"amd64", AVX512F | SM4 | OSXSAVE, "osxsave,sm4,avx512f"},
		{"arm64", PMULL | AES | ASIMD, "asimd,aes,pmull"},
		{"amd64", ASIMD | AVX, "avx,asimd"},
	}
	for _, tt := range tests {
		if got := strings.Join(tt.s.names(tt.arch), ","); got != tt.want {
			t.Errorf("%s %#x: got %q, want %q", tt.arch, uint64(tt.s), got, tt.want)
		}
	}
	if got := AES.String(); got != "aes" {
		t.Errorf("AES.String() is %q", got)
	}
}

func TestStringParses(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		for _, f := range featuresOf(arch) {
			for _, s := range []Set{f.bit, all(featuresOf(arch)) &^ f.bit} {
				list := strings.Join(s.names(arch), ",")
				if got, err := parse(arch, list); err != nil || got != s {
					t.Errorf("%s %q: got %v, %v", arch, list, got, err)
				}
			}
		}
	}
}

// TestHostRoundTrip uses what is exported on whatever machine this is.
func TestHostRoundTrip(t *testing.T) {
	host := Host()
	if got, err := Parse(host.String()); err != nil || got != host {
		t.Errorf("Parse(%q) is %v, %v", host.String(), got, err)
	}
	if tier := host.Tier(); !slices.Contains(Tiers(), tier) || !host.Has(tier.Needs) {
		t.Errorf("the tier of %v is %v", host, tier)
	}
	if _, err := Parse("no such feature"); err == nil {
		t.Error("Parse takes any name")
	}
}
