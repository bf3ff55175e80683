package polyval

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
)

type hexBytes []byte

func (b *hexBytes) UnmarshalText(text []byte) (err error) {
	*b, err = hex.DecodeString(string(text))
	return err
}

func (x Element) String() string {
	b := binary.LittleEndian.AppendUint64(nil, x.Lo)
	return hex.EncodeToString(binary.LittleEndian.AppendUint64(b, x.Hi))
}

// The vectors are from google/hctr2, test_vectors/ours.
func TestVectors(t *testing.T) {
	b, err := os.ReadFile("testdata/polyval.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct{ Key, Message, Hash hexBytes }
	}
	if err := json.Unmarshal(b, &file); err != nil || len(file.Cases) == 0 {
		t.Fatalf("polyval.json: %d cases, %v", len(file.Cases), err)
	}
	for i, v := range file.Cases {
		t.Run(fmt.Sprintf("%d-%dbytes", i, len(v.Message)), func(t *testing.T) {
			if got, want := (Element{}).Update(Load(v.Key), v.Message), Load(v.Hash); got != want {
				t.Errorf("got %v\nwant %v", got, want)
			}
		})
	}
}

// The example of RFC 8452, appendix A, with the products that lead to it.
func TestRFC8452(t *testing.T) {
	load := func(s string) Element {
		b, _ := hex.DecodeString(s)
		return Load(b)
	}
	h := load("25629347589242761d31f826ba4b757b")
	x1, _ := hex.DecodeString("4f4f95668c83dfb6401762bb2d01a262")
	x2, _ := hex.DecodeString("d1a24ddd2721d006bbe45f20d3c9f362")
	want := load("f7a3b47b846119fae5b7866cf5e5b77e")
	if got := (Element{}).Update(h, append(x1, x2...)); got != want {
		t.Errorf("in one piece: got %v\nwant %v", got, want)
	}
	if got := (Element{}).Update(h, x1).Update(h, x2); got != want {
		t.Errorf("in two pieces: got %v\nwant %v", got, want)
	}
}

// clmulBits is the definition, a bit at a time.
func clmulBits(x, y uint64) (hi, lo uint64) {
	for i := range 64 {
		if y>>i&1 == 1 {
			lo ^= x << i
			hi ^= x >> (64 - i)
		}
	}
	return hi, lo
}

func TestClmul(t *testing.T) {
	r := rand.New(rand.NewChaCha8([32]byte{1}))
	values := []uint64{0, 1, 1 << 63, 1<<63 | 1, 1<<64 - 1, 0x1084210842108421, 0x8421084210842108, 0xAAAAAAAAAAAAAAAA}
	for range 64 {
		values = append(values, r.Uint64())
	}
	for _, x := range values {
		for _, y := range values {
			hi, lo := clmul(x, y)
			if wantHi, wantLo := clmulBits(x, y); hi != wantHi || lo != wantLo {
				t.Errorf("%#x · %#x: got %#x %016x, want %#x %016x", x, y, hi, lo, wantHi, wantLo)
			}
		}
	}
}

func BenchmarkUpdate(b *testing.B) {
	data := make([]byte, 4096)
	h := Element{1<<63 | 5, 7}
	var s Element
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		s = s.Update(h, data)
	}
}
