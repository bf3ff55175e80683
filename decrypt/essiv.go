package decrypt

import (
	"crypto/sha256"
	"fmt"
)

const essivKeySize = 16

// checkESSIV panics unless dst, src and iv suit essiv(cbc(aes),sha256).
func checkESSIV(dst, src, iv []byte) { checkUnit(dst, src, iv, blockSize, blockSize) }

// essivSalt returns the AES-256 key that encrypts the IVs, which the caller is to
// clear after use.
func essivSalt(key []byte) ([sha256.Size]byte, error) {
	if len(key) != essivKeySize {
		return [sha256.Size]byte{}, fmt.Errorf("decrypt: essiv(cbc(aes),sha256): %w: %d bytes", ErrKeySize, len(key))
	}
	return sha256.Sum256(key), nil
}
