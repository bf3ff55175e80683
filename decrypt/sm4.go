package decrypt

import (
	"fmt"

	"github.com/emmansun/gmsm/sm4"
)

// The drivers of SM4 take the block cipher of GB/T 32907-2016 from gmsm, which
// uses AES instructions by its own choice, whatever features a caller leaves.

const sm4KeySize = 16

// newXTSSM4 returns XTS of IEEE 1619 with SM4, which is what xts(sm4) of Linux
// is: XTS of GB/T 17964-2021 multiplies the tweak in another representation of
// the field. key has 32 bytes, the data key before the tweak key.
func newXTSSM4(key []byte) (Cipher, error) {
	if len(key) != 2*sm4KeySize {
		return nil, fmt.Errorf("decrypt: xts(sm4): %w: %d bytes", ErrKeySize, len(key))
	}
	data, err := sm4.NewCipher(key[:sm4KeySize])
	if err != nil {
		return nil, err
	}
	tweak, err := sm4.NewCipher(key[sm4KeySize:])
	if err != nil {
		return nil, err
	}
	return &xtsGeneric{data, tweak}, nil
}

// newCTSSM4 returns SM4-CBC with ciphertext stealing in the variant of
// ctsGeneric. key has 16 bytes.
func newCTSSM4(key []byte) (Cipher, error) {
	if len(key) != sm4KeySize {
		return nil, fmt.Errorf("decrypt: cts(cbc(sm4)): %w: %d bytes", ErrKeySize, len(key))
	}
	b, err := sm4.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return &ctsGeneric{b}, nil
}
