package aesct

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/hex"
	"math/rand/v2"
	"testing"
)

var _ cipher.Block = (*Block)(nil)

// The example of FIPS 197, appendix C.3.
func TestFIPS197(t *testing.T) {
	unhex := func(s string) []byte {
		b, _ := hex.DecodeString(s)
		return b
	}
	b := New(unhex("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"))
	plain, cipher := unhex("00112233445566778899aabbccddeeff"), unhex("8ea2b7ca516745bfeafc49904b496089")
	got := make([]byte, BlockSize)
	b.Encrypt(got, plain)
	if !bytes.Equal(got, cipher) {
		t.Errorf("Encrypt: got %x, want %x", got, cipher)
	}
	b.Decrypt(got, got)
	if !bytes.Equal(got, plain) {
		t.Errorf("Decrypt: got %x, want %x", got, plain)
	}
}

func TestAgainstCryptoAES(t *testing.T) {
	r := rand.NewChaCha8([32]byte{1})
	key, plain := make([]byte, KeySize), make([]byte, BlockSize)
	got, want := make([]byte, BlockSize), make([]byte, BlockSize)
	for range 300 {
		r.Read(key)
		r.Read(plain)
		b := New(key)
		reference, err := aes.NewCipher(key)
		if err != nil {
			t.Fatal(err)
		}
		b.Encrypt(got, plain)
		reference.Encrypt(want, plain)
		if !bytes.Equal(got, want) {
			t.Fatalf("key %x: Encrypt(%x):\n got %x\nwant %x", key, plain, got, want)
		}
		b.Decrypt(got, plain)
		reference.Decrypt(want, plain)
		if !bytes.Equal(got, want) {
			t.Fatalf("key %x: Decrypt(%x):\n got %x\nwant %x", key, plain, got, want)
		}
	}
}

// S-box of FIPS 197, figure 7: its first row, and that it is a permutation whose
// inverse is invSubBytes.
func TestSubBytes(t *testing.T) {
	row := []byte{0x63, 0x7c, 0x77, 0x7b, 0xf2, 0x6b, 0x6f, 0xc5, 0x30, 0x01, 0x67, 0x2b, 0xfe, 0xd7, 0xab, 0x76}
	seen := map[byte]bool{}
	for x := range 256 {
		block := bytes.Repeat([]byte{byte(x)}, BlockSize)
		got := make([]byte, BlockSize)
		load(block).subBytes().store(got)
		if len(bytes.Trim(got, string(got[:1]))) != 0 {
			t.Errorf("%#02x in all bytes becomes %x", x, got)
		}
		if x < len(row) && got[0] != row[x] {
			t.Errorf("S-box of %#02x: got %#02x, want %#02x", x, got[0], row[x])
		}
		seen[got[0]] = true
		load(got).invSubBytes().store(got)
		if !bytes.Equal(got, block) {
			t.Errorf("the inverse of the S-box of %#02x is %#02x", x, got[0])
		}
	}
	if len(seen) != 256 {
		t.Errorf("the S-box has %d values", len(seen))
	}
}

// From the S-box and the key expansions of FIPS 197, figure 7 and appendix A, with
// the first byte of a word lowest.
func TestSubWord(t *testing.T) {
	for _, v := range []struct{ x, want uint32 }{
		{0x00000000, 0x63636363},
		{0x53020100, 0xed777c63},
		{0xffaa9b10, 0x16ac14ca},
		{0x093c4fcf, 0x01eb848a},
	} {
		if got := SubWord(v.x); got != v.want {
			t.Errorf("SubWord(%08x): got %08x, want %08x", v.x, got, v.want)
		}
	}
}

func TestKeySize(t *testing.T) {
	for _, n := range []int{0, 16, KeySize - 1, KeySize + 1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a key of %d bytes is taken", n)
				}
			}()
			New(make([]byte, n))
		}()
	}
}

func BenchmarkDecrypt(b *testing.B) {
	c := New(make([]byte, KeySize))
	block := make([]byte, BlockSize)
	for b.Loop() {
		c.Decrypt(block, block)
	}
}
