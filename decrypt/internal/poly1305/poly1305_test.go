package poly1305

import (
	"bytes"
	"encoding/hex"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

func sum(key, message []byte) []byte {
	var k Key
	k.SetBytes(key)
	var s State
	s.Write(&k, message)
	return words(s.Sum())
}

func words(lo, hi uint64) []byte {
	b := make([]byte, 16)
	for i := range 8 {
		b[i], b[8+i] = byte(lo>>(8*i)), byte(hi>>(8*i))
	}
	return b
}

// reference evaluates the polynomial with big integers.
func reference(key, message []byte) []byte {
	number := func(b []byte) *big.Int {
		b = slices.Clone(b)
		slices.Reverse(b)
		return new(big.Int).SetBytes(b)
	}
	one := big.NewInt(1)
	p := new(big.Int).Sub(new(big.Int).Lsh(one, 130), big.NewInt(5))
	clamp, _ := new(big.Int).SetString("0ffffffc0ffffffc0ffffffc0fffffff", 16)
	r := number(key)
	r.And(r, clamp)
	h := new(big.Int)
	for block := range slices.Chunk(message, 16) {
		h.Add(h, number(append(slices.Clone(block), 1)))
		h.Mul(h, r).Mod(h, p)
	}
	h.And(h, new(big.Int).Sub(new(big.Int).Lsh(one, 128), one))
	b := h.FillBytes(make([]byte, 16))
	slices.Reverse(b)
	return b
}

// The vectors are those of RFC 8439, appendix A.3, that have whole blocks and no
// second half of the key. Their tags are thus values of the polynomial.
func TestVectors(t *testing.T) {
	for _, v := range []struct{ name, key, message, hash string }{
		{"1", "00000000000000000000000000000000",
			"0000000000000000000000000000000000000000000000000000000000000000" +
				"0000000000000000000000000000000000000000000000000000000000000000",
			"00000000000000000000000000000000"},
		{"7, h = p + 3 before reduction", "02000000000000000000000000000000",
			"ffffffffffffffffffffffffffffffff",
			"03000000000000000000000000000000"},
		{"9, carries past 2^128", "01000000000000000000000000000000",
			"fffffffffffffffffffffffffffffffff0ffffffffffffffffffffffffffffff11000000000000000000000000000000",
			"05000000000000000000000000000000"},
		{"10, h = p", "01000000000000000000000000000000",
			"fffffffffffffffffffffffffffffffffbfefefefefefefefefefefefefefefe01010101010101010101010101010101",
			"00000000000000000000000000000000"},
		{"11, h = p - 1", "02000000000000000000000000000000",
			"fdffffffffffffffffffffffffffffff",
			"faffffffffffffffffffffffffffffff"},
		{"12", "01000000000000000400000000000000",
			"e33594d7505e43b900000000000000003394d7505e4379cd01000000000000000000000000000000000000000000000001000000000000000000000000000000",
			"14000000000000005500000000000000"},
		{"13", "01000000000000000400000000000000",
			"e33594d7505e43b900000000000000003394d7505e4379cd010000000000000000000000000000000000000000000000",
			"13000000000000000000000000000000"},
	} {
		t.Run(v.name, func(t *testing.T) {
			key, _ := hex.DecodeString(v.key)
			message, _ := hex.DecodeString(v.message)
			if got := sum(key, message); hex.EncodeToString(got) != v.hash {
				t.Errorf("got %x\nwant %s", got, v.hash)
			}
			if got := reference(key, message); hex.EncodeToString(got) != v.hash {
				t.Errorf("the reference: got %x\nwant %s", got, v.hash)
			}
		})
	}
}

func TestReference(t *testing.T) {
	r := rand.NewChaCha8([32]byte{1})
	ones := bytes.Repeat([]byte{0xFF}, 1024)
	for n := 0; n <= 1024; n += 16 {
		key, message := make([]byte, 16), make([]byte, n)
		r.Read(key)
		r.Read(message)
		for _, k := range [][]byte{key, ones[:16]} {
			for _, m := range [][]byte{message, ones[:n], make([]byte, n)} {
				if got, want := sum(k, m), reference(k, m); !bytes.Equal(got, want) {
					t.Errorf("key %x, message %x:\n got %x\nwant %x", k, m, got, want)
				}
			}
		}
	}
}

// Values on both sides of p, where Sum reduces or not: with r = 2, which clamping
// leaves alone, one block b gives 2b + 2^129, and 2^129 is p/2 + 5/2.
func TestSumAroundP(t *testing.T) {
	key := append([]byte{2}, make([]byte, 15)...)
	for b := range 16 {
		for _, rest := range []byte{0x00, 0xFF} {
			block := bytes.Repeat([]byte{rest}, 16)
			block[0] = byte(0xF5 + b)
			if got, want := sum(key, block), reference(key, block); !bytes.Equal(got, want) {
				t.Errorf("block %x:\n got %x\nwant %x", block, got, want)
			}
		}
	}
}

func TestWriteInParts(t *testing.T) {
	message := make([]byte, 160)
	rand.NewChaCha8([32]byte{2}).Read(message)
	var k Key
	k.SetBytes(message[:16])
	var s State
	for part := range slices.Chunk(message, 48) {
		s.Write(&k, part)
	}
	if got, want := words(s.Sum()), sum(message[:16], message); !bytes.Equal(got, want) {
		t.Errorf("got %x\nwant %x", got, want)
	}
}
