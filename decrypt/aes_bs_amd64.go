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
		k := w[4*round:][:4]
		columns := round == first || round == 14
		for i := range 8 {
			plane := &b.planes[round][i]
			// 0x63 is added by SubBytes last of all, and by its inverse first of all.
			var constant uint32
			if decrypt && round != 14 || !decrypt && round != first {
				constant = 0x63 >> i & 1 * 0x01010101
			}
			for c, x := range k {
				x = (x>>i&0x01010101 ^ constant) * 0xff
				if columns {
					binary.LittleEndian.PutUint32(plane[4*c:], x)
					continue
				}
				for r := range 4 {
					plane[4*r+c] = byte(x >> (8 * r))
				}
			}
		}
	}
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
