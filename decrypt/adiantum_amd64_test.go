//go:build !purego

package decrypt

import (
	"testing"

	"encfs/cpufeat"
)

func TestAdiantumLadder(t *testing.T) {
	have := cpufeat.Set(0)
	for _, step := range []struct {
		add  cpufeat.Set
		want string
	}{
		{0, "adiantum-generic"},
		{cpufeat.AVX, "adiantum-generic"},
		{cpufeat.AVX2, "adiantum-avx2"},
		{cpufeat.AVX512F | cpufeat.AVX512BW, "adiantum-avx2"},
		{cpufeat.AVX512VL, "adiantum-avx512"},
		{cpufeat.AES, "adiantum-avx512-aesni"},
		{cpufeat.PreferYMM, "adiantum-avx2-aesni"},
	} {
		have |= step.add
		d, err := Lookup("adiantum(xchacha12,aes)", have)
		if err != nil || d.Name != step.want {
			t.Errorf("with %v: got %s, %v, want %s", have, d.Name, err, step.want)
		}
	}
}

func TestHCTR2Ladder(t *testing.T) {
	for _, v := range []struct {
		have cpufeat.Set
		want string
	}{
		{0, "hctr2-generic"},
		{cpufeat.AES, "hctr2-generic"},
		{cpufeat.PCLMULQDQ, "hctr2-generic"},
		{cpufeat.AES | cpufeat.PCLMULQDQ, "hctr2-aesni"},
	} {
		d, err := Lookup("hctr2(aes)", v.have)
		if err != nil || d.Name != v.want {
			t.Errorf("with %v: got %s, %v, want %s", v.have, d.Name, err, v.want)
		}
	}
}
