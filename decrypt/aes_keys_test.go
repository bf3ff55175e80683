//go:build !purego && (amd64 || arm64)

package decrypt

import (
	"slices"
	"testing"

	"encfs/decrypt/internal/aesct"
)

func TestInvMixColumn(t *testing.T) {
	// FIPS 197, appendix B, round 1: d4bf5d30 becomes 046681e5.
	if got, want := invMixColumn(0xe5816604), uint32(0x305dbfd4); got != want {
		t.Errorf("invMixColumn: got %08x, want %08x", got, want)
	}
}

// The last round keys of FIPS 197, appendix A.1 and A.3.
func TestExpand(t *testing.T) {
	for _, v := range []struct {
		name, key string
		first     int
		last      []uint32
	}{
		{"AES-128", "2b7e151628aed2a6abf7158809cf4f3c", 16, []uint32{0xa8f914d0, 0x8925eec9, 0xc80c3fe1, 0xa60c63b6}},
		{"AES-256", "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4", 0,
			[]uint32{0xd19048fe, 0x0b8d18e6, 0x44f36d04, 0x1e636c70}},
	} {
		t.Run(v.name, func(t *testing.T) {
			var w roundKeys
			w.expand(unhex(v.key), aesct.SubWord)
			if w[v.first] == 0 || v.first > 0 && w[v.first-1] != 0 {
				t.Errorf("the round keys do not begin at word %d: %08x", v.first, w)
			}
			if got := w[56:]; !slices.Equal(got, v.last) {
				t.Errorf("last round key: got %08x, want %08x", got, v.last)
			}
		})
	}
}
