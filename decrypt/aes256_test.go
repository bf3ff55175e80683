package decrypt

import (
	"crypto/aes"
	"testing"
)

// The AES of this CPU, with or without instructions, is that of crypto/aes.
func TestAES256(t *testing.T) {
	r := testRand(8)
	for range 100 {
		key := randBytes(r, 32)
		reference, err := aes.NewCipher(key)
		if err != nil {
			t.Fatal(err)
		}
		c, want := newAES256(key), aes256Block{reference}
		if _, sliced := c.(aes256Block); sliced == hasAES() && len(assemblyDrivers) > 0 {
			t.Fatalf("got %T, and AES instructions: %v", c, hasAES())
		}
		x, scratch := loadBlock(randBytes(r, blockSize)), make([]byte, blockSize)
		if got, want := c.encryptBlock(x, scratch), want.encryptBlock(x, scratch); got != want {
			t.Errorf("key %x: encrypted %x: got %x, want %x", key, x, got, want)
		}
		if got, want := c.decryptBlock(x, scratch), want.decryptBlock(x, scratch); got != want {
			t.Errorf("key %x: decrypted %x: got %x, want %x", key, x, got, want)
		}
	}
}
