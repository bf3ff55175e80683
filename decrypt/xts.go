package decrypt

import "fmt"

// checkXTS panics unless dst, src and iv suit xts(aes).
func checkXTS(dst, src, iv []byte) { checkUnit(dst, src, iv, blockSize, blockSize) }

// splitXTSKey returns the data key and the tweak key, both parts of key.
// Equal halves, which the kernel refuses as a weak key, are accepted: no file
// written by a kernel has such a key.
func splitXTSKey(key []byte) (data, tweak []byte, err error) {
	switch len(key) {
	case 32, 64:
		return key[:len(key)/2], key[len(key)/2:], nil
	}
	return nil, nil, fmt.Errorf("decrypt: xts(aes): %w: %d bytes", ErrKeySize, len(key))
}

// double returns x times the polynomial x in GF(2^128) as XTS represents it:
// bit 0 of byte 0 is the coefficient of x^0, and the reduction polynomial is
// x^128 + x^7 + x^2 + x + 1.
func (x block) double() block {
	carry := x.hi >> 63
	return block{
		lo: x.lo<<1 ^ -carry&0x87,
		hi: x.hi<<1 | x.lo>>63,
	}
}
