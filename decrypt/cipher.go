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

// UnitsCipher is a Cipher that takes several data units in a call, for which it
// has a faster way than one after the other. A driver's Cipher may be one;
// [Contents] makes use of it.
//
// src holds at least one data unit. All have unitSize bytes except that the last
// or only one may be shorter; each has a length that suits Encrypt and
// Decrypt. ivs holds the IVs of all of them, one after the other, and does not
// overlap dst. The rest is as with Cipher: the result is that of one call of
// Encrypt or Decrypt for each unit.
type UnitsCipher interface {
	Cipher
	EncryptUnits(dst, src []byte, unitSize int, ivs []byte)
	DecryptUnits(dst, src []byte, unitSize int, ivs []byte)
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

// checkUnits panics unless the arguments of a UnitsCipher's method are as its
// contract demands.
func checkUnits(dst, src []byte, unitSize int, ivs []byte, multiple, ivSize int) {
	if unitSize < blockSize || unitSize%multiple != 0 {
		panic(fmt.Sprintf("decrypt: data units of %d bytes, want at least %d and a multiple of %d", unitSize, blockSize, multiple))
	}
	units := (len(src) + unitSize - 1) / unitSize
	if len(ivs) != units*ivSize {
		panic(fmt.Sprintf("decrypt: %d bytes of IVs for %d data units, want %d for each", len(ivs), units, ivSize))
	}
	if last := len(src) - (units-1)*unitSize; units == 0 || last < blockSize || last%multiple != 0 {
		panic(fmt.Sprintf("decrypt: %d bytes in data units of %d: the last is less than %d or not a multiple of %d", len(src), unitSize, blockSize, multiple))
	}
	checkBuffers(dst, src)
}

// unitsOf returns c itself if it is a UnitsCipher, and otherwise one that calls c
// for each data unit. ivSize is the length of c's IVs.
func unitsOf(c Cipher, ivSize int) UnitsCipher {
	if u, ok := c.(UnitsCipher); ok {
		return u
	}
	return unitByUnit{c, ivSize}
}

// unitByUnit makes a UnitsCipher of any Cipher.
type unitByUnit struct {
	Cipher
	ivSize int
}

func (c unitByUnit) EncryptUnits(dst, src []byte, unitSize int, ivs []byte) {
	checkUnits(dst, src, unitSize, ivs, 1, c.ivSize) // c knows the multiple
	for len(src) > 0 {
		n := min(len(src), unitSize)
		c.Encrypt(dst[:n], src[:n], ivs[:c.ivSize])
		dst, src, ivs = dst[n:], src[n:], ivs[c.ivSize:]
	}
}

func (c unitByUnit) DecryptUnits(dst, src []byte, unitSize int, ivs []byte) {
	checkUnits(dst, src, unitSize, ivs, 1, c.ivSize) // c knows the multiple
	for len(src) > 0 {
		n := min(len(src), unitSize)
		c.Decrypt(dst[:n], src[:n], ivs[:c.ivSize])
		dst, src, ivs = dst[n:], src[n:], ivs[c.ivSize:]
	}
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
