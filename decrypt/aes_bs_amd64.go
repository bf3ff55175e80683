//go:build !purego

package decrypt

import "encoding/binary"

//go:generate go run aes_bs_gen.go

// bsKeys are round keys for bit-sliced AES, at the same places as in roundKeys: bit
// i of their bytes in plane i, a whole byte for each. All but those of the first
// and the last round are in the order of rows, as is the state. The constant of
// SubBytes or its inverse is added to them.
type bsKeys struct {
	planes [15][8][blockSize]byte
	first  int // offset of the first round key in the struct, in bytes
}

// set takes the round keys for a key of keySize bytes.
func (b *bsKeys) set(w *roundKeys, keySize int, decrypt bool) {
	first := (len(w) - len(w.used(keySize))) / 4
	b.first = first * len(b.planes[0]) * blockSize
	for round := first; round <= 14; round++ {
		k := [4]uint32(w[4*round:])
		if round != first && round != 14 {
			k = rowsOf(k)
		}
		for i := range 8 {
			// 0x63 is added by SubBytes last of all, and by its inverse first of all.
			var constant uint32
			if decrypt && round != 14 || !decrypt && round != first {
				constant = 0x63 >> i & 1 * 0x01010101
			}
			for j, x := range k {
				x = (x>>i&0x01010101 ^ constant) * 0xff
				binary.LittleEndian.PutUint32(b.planes[round][i][4*j:], x)
			}
		}
	}
}

// rowsOf returns the rows of a state of which it gets the columns.
func rowsOf(columns [4]uint32) (rows [4]uint32) {
	for c, x := range columns {
		for r := range rows {
			rows[r] |= x >> (8 * r) & 0xff << (8 * c)
		}
	}
	return rows
}

// bsEncryptSSSE3 encrypts the eight blocks at src, each added to the one at
// tweaks before and after, to dst. dst and src overlap entirely or not at all. No
// intermediate values stay on the stack. Needs SSSE3.
//
//go:noescape
func bsEncryptSSSE3(k *bsKeys, dst, src, tweaks *byte)

// bsDecryptSSSE3 is the inverse of bsEncryptSSSE3, with the keys for decryption.
//
//go:noescape
func bsDecryptSSSE3(k *bsKeys, dst, src, tweaks *byte)

// bsEncryptAVX2 is bsEncryptSSSE3 for 16 blocks. Needs AVX2.
//
//go:noescape
func bsEncryptAVX2(k *bsKeys, dst, src, tweaks *byte)

// bsDecryptAVX2 is the inverse of bsEncryptAVX2, with the keys for decryption.
//
//go:noescape
func bsDecryptAVX2(k *bsKeys, dst, src, tweaks *byte)
