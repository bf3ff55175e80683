//go:build !purego

package decrypt

import (
	"testing"

	"encfs/cpufeat"
	"encfs/decrypt/internal/aesct"
)

// The names and priorities, but for the bit-sliced drivers, are those of
// arch/x86/crypto/aesni-intel_glue.c in the kernel.
func TestXTSLadder(t *testing.T) {
	have := cpufeat.Set(0)
	for _, step := range []struct {
		add      cpufeat.Set
		name     string
		priority int
	}{
		{0, "xts-aes-generic", 100},
		{cpufeat.SSE2 | cpufeat.SSE3 | cpufeat.SSSE3, "xts-aes-bs-ssse3", 200},
		{cpufeat.AVX2, "xts-aes-bs-avx2", 250},
		{cpufeat.AES, "xts-aes-aesni", 401},
		{cpufeat.AVX, "xts-aes-aesni-avx", 500},
		{cpufeat.VAES | cpufeat.PCLMULQDQ, "xts-aes-aesni-avx", 500},
		{cpufeat.VPCLMULQDQ, "xts-aes-vaes-avx2", 600},
		{cpufeat.AVX512F | cpufeat.AVX512BW | cpufeat.BMI2, "xts-aes-vaes-avx2", 600},
		{cpufeat.AVX512VL, "xts-aes-vaes-avx512", 800},
		{cpufeat.PreferYMM, "xts-aes-vaes-avx2", 600},
	} {
		have |= step.add
		d, err := Lookup("xts(aes)", have)
		if err != nil || d.Name != step.name || d.PriorityOn(have) != step.priority {
			t.Errorf("with %v: got %s of priority %d, %v, want %s of %d", have, d.Name, d.PriorityOn(have), err, step.name, step.priority)
		}
	}
}

// What a CPU that has everything comes down to without one feature, and what depends
// on it.
func TestXTSWithout(t *testing.T) {
	const all = ^cpufeat.Set(0) &^ cpufeat.PreferYMM
	for _, tt := range []struct {
		clear cpufeat.Set
		want  string
	}{
		{cpufeat.GFNI, "xts-aes-vaes-avx512"}, // of which nothing makes use
		{cpufeat.BMI2, "xts-aes-vaes-avx2"},
		{cpufeat.AVX512BW, "xts-aes-vaes-avx2"},
		{cpufeat.AVX512VL, "xts-aes-vaes-avx2"},
		{cpufeat.AVX512F, "xts-aes-vaes-avx2"},
		{cpufeat.VPCLMULQDQ, "xts-aes-aesni-avx"},
		{cpufeat.PCLMULQDQ, "xts-aes-aesni-avx"},
		{cpufeat.VAES, "xts-aes-aesni-avx"},
		{cpufeat.AVX2, "xts-aes-aesni-avx"},
		{cpufeat.AVX, "xts-aes-aesni"},
		{cpufeat.OSXSAVE, "xts-aes-aesni"},
		{cpufeat.SSSE3, "xts-aes-aesni"},
		{cpufeat.AES, "xts-aes-bs-avx2"},
		{cpufeat.AES | cpufeat.AVX2, "xts-aes-bs-ssse3"},
		{cpufeat.AES | cpufeat.SSSE3, "xts-aes-generic"},
	} {
		d, err := Lookup("xts(aes)", all.Clear(tt.clear))
		if err != nil || d.Name != tt.want {
			t.Errorf("without %v: got %s, %v, want %s", tt.clear, d.Name, err, tt.want)
		}
	}
}

// subWordAESNI is what aesct.SubWord is without AES-NI.
func TestSubWordAESNI(t *testing.T) {
	if !cpufeat.Host().Has(cpufeat.AES) {
		t.Skip("this CPU lacks AES-NI")
	}
	for x := range uint32(256) {
		x *= 0x01fd0301 // four different bytes
		if got, want := subWordAESNI(x), aesct.SubWord(x); got != want {
			t.Errorf("subWordAESNI(%08x): got %08x, want %08x", x, got, want)
		}
	}
}
