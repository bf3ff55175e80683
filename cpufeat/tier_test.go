package cpufeat

import "testing"

func TestTiersAscend(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64", "riscv64"} {
		tiers := tiersOf(arch)
		if tiers[0].Name != "generic" || tiers[0].Needs != 0 {
			t.Errorf("%s: the lowest tier is %v", arch, tiers[0])
		}
		known := all(featuresOf(arch))
		for i, tier := range tiers {
			if tier.Needs&^known != 0 {
				t.Errorf("%s: %s needs %v, which is of another architecture", arch, tier.Name, tier.Needs&^known)
			}
			if i > 0 && (!tier.Needs.Has(tiers[i-1].Needs) || tier.Needs == tiers[i-1].Needs) {
				t.Errorf("%s: %s does not need more than %s", arch, tier.Name, tiers[i-1].Name)
			}
			// With exactly its needs, and with all but one of them.
			if got := tier.Needs.tier(tiers); got != tier {
				t.Errorf("%s: the needs of %s make the tier %s", arch, tier.Name, got.Name)
			}
			for _, f := range featuresOf(arch) {
				if tier.Needs.Has(f.bit) && (tier.Needs&^f.bit).tier(tiers) == tier {
					t.Errorf("%s: the tier is %s without %s too", arch, tier.Name, f.name)
				}
			}
		}
	}
}

func TestTiersIsACopy(t *testing.T) {
	Tiers()[0].Name = "changed"
	if got := Tiers()[0].Name; got != "generic" {
		t.Errorf("got %q after a caller's change", got)
	}
}

func TestPreferYMM(t *testing.T) {
	s := iceLake.detect(t).Features
	if got := s.tier(amd64Tiers).Name; got != "vaes-avx2" {
		t.Errorf("Ice Lake: got %s, want vaes-avx2", got)
	}
	if got := s.Clear(PreferYMM).tier(amd64Tiers).Name; got != "vaes-avx512" {
		t.Errorf("Ice Lake without the advice: got %s, want vaes-avx512", got)
	}
}

// TestClearedTiers walks down the tiers as --clear-cpu does.
func TestClearedTiers(t *testing.T) {
	tests := []struct {
		arch, clear, want string
	}{
		{"amd64", "prefer_ymm", "vaes-avx512"},
		{"amd64", "avx512", "vaes-avx2"},
		{"amd64", "vaes", "aesni-avx"},
		{"amd64", "avx2", "aesni-avx"},
		{"amd64", "avx", "aesni"},
		{"amd64", "osxsave", "aesni"},
		{"amd64", "aes", "ssse3"},
		{"amd64", "ssse3", "generic"},
		{"amd64", "sse2", "generic"},
		{"arm64", "", "ce"},
		{"arm64", "aes", "neon"},
		{"arm64", "asimd", "generic"},
	}
	for _, tt := range tests {
		t.Run(tt.arch+" "+tt.clear, func(t *testing.T) {
			f, err := parse(tt.arch, tt.clear)
			if err != nil {
				t.Fatal(err)
			}
			if got := all(featuresOf(tt.arch)).Clear(f).tier(tiersOf(tt.arch)).Name; got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
