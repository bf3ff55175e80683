package nh

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// sum is the formula of the paper, word by word.
func sum(k *Key, piece []byte) (hash [Size]byte) {
	m := make([]uint32, len(piece)/4)
	for i := range m {
		m[i] = binary.LittleEndian.Uint32(piece[4*i:])
	}
	for pass := range 4 {
		var s uint64
		for i := 0; i < len(m); i += 4 {
			for j := i; j < i+2; j++ {
				s += uint64(m[j]+k[j+4*pass]) * uint64(m[j+2]+k[j+2+4*pass])
			}
		}
		binary.LittleEndian.PutUint64(hash[8*pass:], s)
	}
	return hash
}

func TestSum(t *testing.T) {
	r := rand.NewChaCha8([32]byte{1})
	var k Key
	b := make([]byte, KeySize)
	for n := 0; n <= PieceSize; n += Granule {
		r.Read(b)
		k.SetBytes(b)
		piece := make([]byte, n+1)[1:]
		r.Read(piece)
		if got, want := k.Sum(piece), sum(&k, piece); got != want {
			t.Errorf("%d bytes:\n got %x\nwant %x", n, got, want)
		}
	}
	// Sums and products at their greatest.
	for i := range k {
		k[i] = 0xFFFFFFFF
	}
	piece := make([]byte, PieceSize)
	if got, want := k.Sum(piece), sum(&k, piece); got != want {
		t.Errorf("all ones:\n got %x\nwant %x", got, want)
	}
}

func TestMistakesPanic(t *testing.T) {
	var k Key
	for _, n := range []int{1, Granule - 1, Granule + 1, PieceSize - 1, PieceSize + 1, PieceSize + Granule} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a piece of %d bytes is taken", n)
				}
			}()
			k.Sum(make([]byte, n))
		}()
	}
}

func BenchmarkSum(b *testing.B) {
	var k Key
	piece := make([]byte, PieceSize)
	b.SetBytes(PieceSize)
	for b.Loop() {
		k.Sum(piece)
	}
}
