//go:build !purego

package decrypt

import (
	"testing"

	"encfs/cpufeat"
	"encfs/decrypt/internal/aesct"
)

// subWordCE is what aesct.SubWord is without AES instructions.
func TestSubWordCE(t *testing.T) {
	if !cpufeat.Host().Has(cpufeat.AES) {
		t.Skip("this CPU lacks the AES instructions")
	}
	for x := range uint32(256) {
		x *= 0x01fd0301 // four different bytes
		if got, want := subWordCE(x), aesct.SubWord(x); got != want {
			t.Errorf("subWordCE(%08x): got %08x, want %08x", x, got, want)
		}
	}
}
