// Package aesct implements AES-256 (FIPS 197) for single blocks in constant time on
// CPUs without AES instructions, where crypto/aes uses tables: it neither branches on
// nor indexes memory by keys or data.
//
// The block is bit-sliced. Its 16 bytes are kept as 8 planes of 16 bits, of which
// plane p has bit p of each byte: bit i that of byte i. SubBytes then is a circuit of
// logic gates that all bytes go through at once.
package aesct

import (
	"crypto/aes"
	"encoding/binary"
	"fmt"
)

const (
	KeySize   = 32 // bytes of key
	BlockSize = aes.BlockSize

	rounds = 14
)

// A Block is a cipher.Block with one key. It is safe for concurrent use.
type Block struct{ keys [rounds + 1]state }

// New returns a Block for key, which has KeySize bytes, and keeps no reference to
// it.
func New(key []byte) *Block {
	if len(key) != KeySize {
		panic(fmt.Sprintf("aesct: key of %d bytes, want %d", len(key), KeySize))
	}
	// The words of the key schedule, FIPS 197, section 5.2.
	const n = KeySize / 4
	var w [4 * (rounds + 1)]uint32
	rcon := uint32(1)
	for i := range w {
		switch {
		case i < n:
			w[i] = binary.LittleEndian.Uint32(key[4*i:])
		case i%n == 0:
			x := SubWord(w[i-1])
			w[i] = w[i-n] ^ (x>>8 | x<<24) ^ rcon
			rcon <<= 1
		case i%n == 4:
			w[i] = w[i-n] ^ SubWord(w[i-1])
		default:
			w[i] = w[i-n] ^ w[i-1]
		}
	}
	b := new(Block)
	for i := range b.keys {
		k := w[4*i:]
		b.keys[i] = slice(uint64(k[0])|uint64(k[1])<<32, uint64(k[2])|uint64(k[3])<<32)
	}
	return b
}

// BlockSize returns 16.
func (b *Block) BlockSize() int { return BlockSize }

// Encrypt sets the first 16 bytes of dst to those of src, encrypted. They overlap
// entirely or not at all.
func (b *Block) Encrypt(dst, src []byte) {
	s := load(src).xor(b.keys[0])
	for i := 1; i < rounds; i++ {
		s = s.subBytes().shiftRows().mixColumns().xor(b.keys[i])
	}
	s.subBytes().shiftRows().xor(b.keys[rounds]).store(dst)
}

// Decrypt is the inverse of Encrypt.
func (b *Block) Decrypt(dst, src []byte) {
	s := load(src).xor(b.keys[rounds])
	for i := rounds - 1; i > 0; i-- {
		s = s.invShiftRows().invSubBytes().xor(b.keys[i]).invMixColumns()
	}
	s.invShiftRows().invSubBytes().xor(b.keys[0]).store(dst)
}

func load(src []byte) state {
	return slice(binary.LittleEndian.Uint64(src), binary.LittleEndian.Uint64(src[8:BlockSize]))
}

func (s state) store(dst []byte) {
	_ = dst[BlockSize-1]
	lo, hi := s.unslice()
	binary.LittleEndian.PutUint64(dst, lo)
	binary.LittleEndian.PutUint64(dst[8:], hi)
}

// SubWord replaces each byte of w by that of the S-box, as SubWord of FIPS 197, section
// 5.2, does it.
func SubWord(w uint32) uint32 {
	lo, _ := slice(uint64(w), 0).subBytes().unslice()
	return uint32(lo)
}
