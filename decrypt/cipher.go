package decrypt

import (
	"errors"
	"fmt"
	"unsafe"
)

// Cipher is a keyed, length-preserving transform of one data unit or one file
// name. Encrypt and Decrypt are inverses of each other for equal keys and IVs.
//
// dst and src have the same length, which is at least 16 bytes and for
// xts(...) and essiv(cbc(aes),sha256) a multiple of 16. They overlap entirely
// or not at all. iv has the length that the algorithm prescribes, which is IVSize
// of its mode in package keys, and does not overlap dst. Lengths and overlaps
// of dst and src that break these rules panic. Only dst is written; what it
// holds while the call runs is undefined.
//
// A Cipher is safe for concurrent use, allocates nothing and keeps no reference
// to its arguments.
type Cipher interface {
	Encrypt(dst, src, iv []byte)
	Decrypt(dst, src, iv []byte)
}

// ErrKeySize means that the algorithm does not take keys of this length.
var ErrKeySize = errors.New("wrong key size")

// checkUnit panics unless the arguments of a Cipher's method are as its contract
// demands: len(src) at least one AES block and a multiple of multiple.
func checkUnit(dst, src, iv []byte, multiple, ivSize int) {
	if len(src) < blockSize || len(src)%multiple != 0 {
		panic(fmt.Sprintf("decrypt: data of %d bytes, want at least %d and a multiple of %d", len(src), blockSize, multiple))
	}
	if len(iv) != ivSize {
		panic(fmt.Sprintf("decrypt: IV of %d bytes, want %d", len(iv), ivSize))
	}
	checkBuffers(dst, src)
}

// checkBuffers panics if dst and src differ in length, or overlap without being
// the same memory.
func checkBuffers(dst, src []byte) {
	if len(dst) != len(src) {
		panic(fmt.Sprintf("decrypt: dst has %d bytes, src %d", len(dst), len(src)))
	}
	d := uintptr(unsafe.Pointer(unsafe.SliceData(dst)))
	s := uintptr(unsafe.Pointer(unsafe.SliceData(src)))
	n := uintptr(len(src))
	if d != s && d < s+n && s < d+n {
		panic("decrypt: dst and src overlap in part")
	}
}
