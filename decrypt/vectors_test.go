package decrypt

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"encfs/decrypt/internal/poly1305"
)

// hexBytes is a byte string that JSON has in hex.
type hexBytes []byte

func (b *hexBytes) UnmarshalText(text []byte) (err error) {
	*b, err = hex.DecodeString(string(text))
	return err
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// loadVectors returns the cases of a file of testdata; where they come from is
// in the README there.
func loadVectors[T any](t testing.TB, name string) []T {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []T }
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(file.Cases) == 0 {
		t.Fatalf("%s has no cases", name)
	}
	return file.Cases
}

// A vector is a known answer of a Cipher.
type vector struct {
	Source         string
	Key, Plaintext hexBytes
	IV, Tweak      hexBytes // one of the two names of the same thing
	Ciphertext     hexBytes
}

// vectors are the known answers of each algorithm.
var vectors = []struct{ algorithm, file string }{
	{"xts(aes)", "aes-256-xts.json"},
	{"essiv(cbc(aes),sha256)", "aes-128-cbc-essiv.json"},
	{"cts(cbc(aes))", "aes-cts-cbc.json"},
	{"hctr2(aes)", "hctr2.json"},
	{"adiantum(xchacha12,aes)", "adiantum.json"},
}

func TestVectors(t *testing.T) {
	for _, set := range vectors {
		cases := loadVectors[vector](t, set.file)
		forEachDriver(t, set.algorithm, func(t *testing.T, d Driver) {
			for i, v := range cases {
				iv := append(v.IV, v.Tweak...)
				t.Run(fmt.Sprintf("%s-%d-%dbytes", set.file, i, len(v.Plaintext)), func(t *testing.T) {
					checkVector(t, newTestCipher(t, d, v.Key), v.Plaintext, v.Ciphertext, iv)
				})
			}
		})
	}
}

// checkVector checks a known answer in both directions: in place and out of place,
// with data at the addresses that the allocator gives and at odd ones.
func checkVector(t *testing.T, c Cipher, plain, cipher, iv []byte) {
	t.Helper()
	for _, dir := range []struct {
		name      string
		transform func(dst, src, iv []byte)
		in, want  []byte
	}{
		{"Encrypt", c.Encrypt, plain, cipher},
		{"Decrypt", c.Decrypt, cipher, plain},
	} {
		for _, shift := range []int{0, 1, 13} {
			got := bytes.Clone(append(make([]byte, shift), dir.in...))[shift:]
			dir.transform(got, got, iv)
			if !bytes.Equal(got, dir.want) {
				t.Errorf("%s in place, shifted by %d:\n got %x\nwant %x", dir.name, shift, got, dir.want)
			}
			got = bytes.Repeat([]byte{0xEE}, len(dir.in)+shift)[shift:]
			dir.transform(got, dir.in, iv)
			if !bytes.Equal(got, dir.want) {
				t.Errorf("%s out of place, shifted by %d:\n got %x\nwant %x", dir.name, shift, got, dir.want)
			}
		}
	}
}

// AES-128-XTS has no user in fscrypt. The vectors are numbers 1 and 2 of IEEE
// 1619-2007, appendix B.
func TestXTS128Vectors(t *testing.T) {
	for _, v := range []struct{ name, key, iv, plain, cipher string }{
		{
			name:   "IEEE 1619 vector 1",
			key:    "0000000000000000000000000000000000000000000000000000000000000000",
			iv:     "00000000000000000000000000000000",
			plain:  "0000000000000000000000000000000000000000000000000000000000000000",
			cipher: "917cf69ebd68b2ec9b9fe9a3eadda692cd43d2f59598ed858c02c2652fbf922e",
		},
		{
			name:   "IEEE 1619 vector 2",
			key:    "1111111111111111111111111111111122222222222222222222222222222222",
			iv:     "33333333330000000000000000000000",
			plain:  "4444444444444444444444444444444444444444444444444444444444444444",
			cipher: "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0",
		},
	} {
		forEachDriver(t, "xts(aes)", func(t *testing.T, d Driver) {
			t.Run(v.name, func(t *testing.T) {
				c := newTestCipher(t, d, unhex(v.key))
				checkVector(t, c, unhex(v.plain), unhex(v.cipher), unhex(v.iv))
			})
		})
	}
}

// The stream of HCTR2 on its own finds faults that its two hashes would blur.
func TestXCTRVectors(t *testing.T) {
	vectors := loadVectors[struct{ Key, Nonce, Plaintext, Ciphertext hexBytes }](t, "xctr.json")
	forEachDriver(t, "hctr2(aes)", func(t *testing.T, d Driver) {
		for _, v := range vectors {
			t.Run(fmt.Sprintf("%dbytes", len(v.Plaintext)), func(t *testing.T) {
				c := newTestCipher(t, d, v.Key).(*hctr2)
				got := bytes.Clone(v.Plaintext)
				c.xctr(got, got, loadBlock(v.Nonce), make([]byte, blockSize))
				if !bytes.Equal(got, v.Ciphertext) {
					t.Errorf("xctr:\n got %x\nwant %x", got, v.Ciphertext)
				}
			})
		}
	})
}

// So does the hash of Adiantum.
func TestNHPoly1305Vectors(t *testing.T) {
	vectors := loadVectors[struct{ Key, Message, Hash hexBytes }](t, "nhpoly1305.json")
	forEachDriver(t, "adiantum(xchacha12,aes)", func(t *testing.T, d Driver) {
		parts := partsOf(t, d)
		for _, v := range vectors {
			t.Run(fmt.Sprintf("%dbytes", len(v.Message)), func(t *testing.T) {
				keys := new(adiantumKeys)
				keys.message.SetBytes(v.Key[:poly1305.KeySize])
				keys.nh.SetBytes(v.Key[poly1305.KeySize:])
				parts.setKeys(keys)
				got := parts.hashMessage(v.Message).bytes()
				if !bytes.Equal(got[:], v.Hash) {
					t.Errorf("hash:\n got %x\nwant %x", got, v.Hash)
				}
			})
		}
	})
}
