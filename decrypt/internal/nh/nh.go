// Package nh implements NH, the fast first stage of Adiantum's hash function, in
// the variant of "Adiantum: length-preserving encryption for entry-level
// processors" (Crowley and Biggers, 2018): four passes over 32-bit words, with a
// stride of two words.
package nh

import (
	"encoding/binary"
	"fmt"
)

const (
	KeySize   = 1072 // bytes of key
	PieceSize = 1024 // most bytes of message that one hash value covers
	Size      = 32   // bytes of a hash value

	// Granule is what the length of a message has to be a multiple of: a pass
	// takes words in groups of four, and the key of a pass begins one group after
	// that of the pass before.
	Granule = 16
)

// A Key is an NH key as 32-bit words.
type Key [KeySize / 4]uint32

// SetBytes sets k to b, which has KeySize bytes, read as little-endian words.
func (k *Key) SetBytes(b []byte) {
	if len(b) != KeySize {
		panic(fmt.Sprintf("nh: key of %d bytes, want %d", len(b), KeySize))
	}
	for i := range k {
		k[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
}

// Sum returns the hash value of a piece of a message: at most PieceSize bytes, a
// multiple of Granule. It is safe for concurrent use.
//
// For the words m of the piece and pass p it is the sum mod 2^64 of
//
//	(m[4j] + k[4(j+p)]) · (m[4j+2] + k[4(j+p)+2]) + (m[4j+1] + k[4(j+p)+1]) · (m[4j+3] + k[4(j+p)+3])
//
// over all groups j, where the factors are mod 2^32. The sums of the four
// passes are stored in order, little-endian.
func (k *Key) Sum(piece []byte) (hash [Size]byte) {
	if len(piece) > PieceSize || len(piece)%Granule != 0 {
		panic(fmt.Sprintf("nh: piece of %d bytes", len(piece)))
	}
	var s0, s1, s2, s3 uint64
	for key := k[:]; len(piece) >= Granule; piece, key = piece[Granule:], key[4:] {
		m0 := binary.LittleEndian.Uint32(piece[0:])
		m1 := binary.LittleEndian.Uint32(piece[4:])
		m2 := binary.LittleEndian.Uint32(piece[8:])
		m3 := binary.LittleEndian.Uint32(piece[12:])
		k := (*[16]uint32)(key)
		s0 += uint64(m0+k[0])*uint64(m2+k[2]) + uint64(m1+k[1])*uint64(m3+k[3])
		s1 += uint64(m0+k[4])*uint64(m2+k[6]) + uint64(m1+k[5])*uint64(m3+k[7])
		s2 += uint64(m0+k[8])*uint64(m2+k[10]) + uint64(m1+k[9])*uint64(m3+k[11])
		s3 += uint64(m0+k[12])*uint64(m2+k[14]) + uint64(m1+k[13])*uint64(m3+k[15])
	}
	binary.LittleEndian.PutUint64(hash[0:], s0)
	binary.LittleEndian.PutUint64(hash[8:], s1)
	binary.LittleEndian.PutUint64(hash[16:], s2)
	binary.LittleEndian.PutUint64(hash[24:], s3)
	return hash
}
