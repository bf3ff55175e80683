package decrypt

import (
	"crypto/aes"
	"testing"
)

func TestAES256Sliced(t *testing.T) { testAES256(t, newAES256Sliced) }

// testAES256 compares an AES-256 with that of crypto/aes.
func testAES256(t *testing.T, newAES256 func(key []byte) aes256) {
	r := testRand(8)
	for range 100 {
		key := randBytes(r, 32)
		reference, err := aes.NewCipher(key)
		if err != nil {
			t.Fatal(err)
		}
		c, want := newAES256(key), aes256Block{reference}
		x, scratch := loadBlock(randBytes(r, blockSize)), make([]byte, blockSize)
		if got, want := c.encryptBlock(x, scratch), want.encryptBlock(x, scratch); got != want {
			t.Errorf("key %x: encrypted %x: got %x, want %x", key, x, got, want)
		}
		if got, want := c.decryptBlock(x, scratch), want.decryptBlock(x, scratch); got != want {
			t.Errorf("key %x: decrypted %x: got %x, want %x", key, x, got, want)
		}
	}
}
