package decrypt

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"math/bits"
)

const blockSize = aes.BlockSize

// A block is 16 bytes as two little-endian words, so that it is passed in
// registers. All ciphers here do their arithmetic in this byte order.
type block struct{ lo, hi uint64 }

func loadBlock(b []byte) block {
	_ = b[blockSize-1]
	return block{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
}

func (x block) store(b []byte) {
	_ = b[blockSize-1]
	binary.LittleEndian.PutUint64(b, x.lo)
	binary.LittleEndian.PutUint64(b[8:], x.hi)
}

// bytes returns x as an array, which stays on the stack as long as it is not
// passed to a cipher.Block.
func (x block) bytes() (b [blockSize]byte) {
	x.store(b[:])
	return b
}

func (x block) xor(y block) block { return block{x.lo ^ y.lo, x.hi ^ y.hi} }

// add returns x + y mod 2^128.
func (x block) add(y block) block {
	lo, carry := bits.Add64(x.lo, y.lo, 0)
	hi, _ := bits.Add64(x.hi, y.hi, carry)
	return block{lo, hi}
}

// sub returns x - y mod 2^128.
func (x block) sub(y block) block {
	lo, borrow := bits.Sub64(x.lo, y.lo, 0)
	hi, _ := bits.Sub64(x.hi, y.hi, borrow)
	return block{lo, hi}
}

// encrypt returns x encrypted with c. It uses the first 16 bytes of scratch:
// a local array would not do, since the arguments of an interface's methods
// escape to the heap. Callers pass a part of dst whose source they have
// read and whose result they have yet to write. So nothing is allocated, and no
// memory but dst ever holds intermediate values.
func (x block) encrypt(c cipher.Block, scratch []byte) block {
	scratch = scratch[:blockSize]
	x.store(scratch)
	c.Encrypt(scratch, scratch)
	return loadBlock(scratch)
}

// decrypt is the inverse of encrypt.
func (x block) decrypt(c cipher.Block, scratch []byte) block {
	scratch = scratch[:blockSize]
	x.store(scratch)
	c.Decrypt(scratch, scratch)
	return loadBlock(scratch)
}
