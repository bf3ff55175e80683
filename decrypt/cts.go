package decrypt

import "fmt"

// checkCTS panics unless dst, src and iv suit cts(cbc(aes)).
func checkCTS(dst, src, iv []byte) { checkUnit(dst, src, iv, 1, blockSize) }

// checkCTSKey returns an error unless key is one of AES-128 or AES-256.
func checkCTSKey(key []byte) error {
	switch len(key) {
	case 16, 32:
		return nil
	}
	return fmt.Errorf("decrypt: cts(cbc(aes)): %w: %d bytes", ErrKeySize, len(key))
}
