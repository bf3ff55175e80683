package decrypt

import "fmt"

const (
	hctr2KeySize = 32
	hctr2IVSize  = 32
)

// checkHCTR2 panics unless dst, src and iv suit hctr2(aes).
func checkHCTR2(dst, src, iv []byte) { checkUnit(dst, src, iv, 1, hctr2IVSize) }

// checkHCTR2Key returns an error unless key is one of AES-256.
func checkHCTR2Key(key []byte) error {
	if len(key) != hctr2KeySize {
		return fmt.Errorf("decrypt: hctr2(aes): %w: %d bytes", ErrKeySize, len(key))
	}
	return nil
}
