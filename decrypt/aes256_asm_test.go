//go:build !purego && (amd64 || arm64)

package decrypt

import (
	"testing"

	"encfs/cpufeat"
)

func TestAES256Asm(t *testing.T) {
	if !cpufeat.Host().Has(cpufeat.AES) {
		t.Skip("this CPU has no AES instructions")
	}
	testAES256(t, newAES256Asm)
}
