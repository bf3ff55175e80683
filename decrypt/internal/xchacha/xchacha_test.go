package xchacha

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

type hexBytes []byte

func (b *hexBytes) UnmarshalText(text []byte) (err error) {
	*b, err = hex.DecodeString(string(text))
	return err
}

// The vectors are from google/adiantum, test_vectors/ours.
func TestVectors(t *testing.T) {
	b, err := os.ReadFile("testdata/xchacha12.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Key, Nonce hexBytes
			Tests      []struct {
				Offset    int // in blocks
				Keystream hexBytes
			}
		}
	}
	if err := json.Unmarshal(b, &file); err != nil || len(file.Cases) == 0 {
		t.Fatalf("xchacha12.json: %d cases, %v", len(file.Cases), err)
	}
	for i, v := range file.Cases {
		var k Key
		k.SetBytes(v.Key)
		nonce := [NonceSize]byte(v.Nonce)
		for _, test := range v.Tests {
			t.Run(fmt.Sprintf("%d-block%d", i, test.Offset), func(t *testing.T) {
				skip := test.Offset * blockSize
				stream := make([]byte, skip+len(test.Keystream))
				k.XORKeyStream(stream, stream, &nonce)
				if got := stream[skip:]; !bytes.Equal(got, test.Keystream) {
					t.Errorf("got %x\nwant %x", got, test.Keystream)
				}
			})
		}
	}
}

// The stream of a length is the beginning of that of a greater one, and nothing
// is written after it.
func TestLengths(t *testing.T) {
	k := Key{1, 2, 3}
	nonce := [NonceSize]byte{4, 5, 6}
	const longest = 300
	stream := make([]byte, longest)
	k.XORKeyStream(stream, stream, &nonce)
	for n := range longest {
		src := bytes.Repeat([]byte{0x5A}, longest)
		dst := make([]byte, longest)
		k.XORKeyStream(dst[:n], src[:n], &nonce)
		for i := range dst {
			want := stream[i] ^ 0x5A
			if i >= n {
				want = 0
			}
			if dst[i] != want {
				t.Fatalf("%d bytes: byte %d is %#02x, want %#02x", n, i, dst[i], want)
			}
		}
		k.XORKeyStream(src[:n], src[:n], &nonce)
		if !bytes.Equal(src[:n], dst[:n]) {
			t.Fatalf("%d bytes in place differ", n)
		}
	}
}

func BenchmarkXORKeyStream(b *testing.B) {
	var k Key
	var nonce [NonceSize]byte
	data := make([]byte, 4096)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		k.XORKeyStream(data, data, &nonce)
	}
}
