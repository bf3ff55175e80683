//go:build !purego

package decrypt

import (
	"crypto/aes"
	"testing"

	"encfs/cpufeat"
)

func TestAES256BitSliced(t *testing.T) {
	if !cpufeat.Host().Has(cpufeat.SSSE3) {
		t.Skip("this CPU has no SSSE3")
	}
	testAES256(t, func(key []byte) aes256 {
		c := new(aes256BitSliced)
		c.setKey(key)
		return c
	})
}

// Several blocks are what each is alone, as crypto/aes has it.
func TestAES256Blocks(t *testing.T) {
	for _, tt := range []struct {
		name  string
		needs cpufeat.Set
		new   func() aes256Blocks
	}{
		{"AES-NI", cpufeat.AES, func() aes256Blocks { return new(aes256Asm) }},
		{"bit-sliced", cpufeat.SSSE3, func() aes256Blocks { return new(aes256BitSliced) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if have := cpufeat.Host(); !have.Has(tt.needs) {
				t.Skipf("this CPU has no %v", tt.needs&^have)
			}
			r := testRand(9)
			key := randBytes(r, 32)
			reference, err := aes.NewCipher(key)
			if err != nil {
				t.Fatal(err)
			}
			want, scratch := aes256Block{reference}, make([]byte, blockSize)
			c := tt.new()
			c.setKey(key)
			var in [aesBlocks]block
			for i := range in {
				in[i] = loadBlock(randBytes(r, blockSize))
			}
			for n := 1; n <= aesBlocks; n++ {
				encrypted, decrypted := c.encryptBlocks(in, n), c.decryptBlocks(in, n)
				for i, x := range in[:n] {
					if got, want := encrypted[i], want.encryptBlock(x, scratch); got != want {
						t.Errorf("block %d of %d encrypted: got %x, want %x", i, n, got, want)
					}
					if got, want := decrypted[i], want.decryptBlock(x, scratch); got != want {
						t.Errorf("block %d of %d decrypted: got %x, want %x", i, n, got, want)
					}
				}
			}
		})
	}
}
