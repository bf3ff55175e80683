package decrypt

import (
	"crypto/aes"
	"crypto/cipher"
	"sync"

	"encfs/cpufeat"
	"encfs/decrypt/internal/aesct"
)

// hasAES reports whether the CPU has AES instructions and crypto/aes uses them,
// which it does wherever package cpufeat knows of them.
var hasAES = sync.OnceValue(func() bool { return cpufeat.Host().Has(cpufeat.AES) })

// newAES256 returns AES-256 for single blocks that is constant time: that of
// crypto/aes on CPUs with AES instructions, and an own one on others, where
// crypto/aes uses lookup tables. It takes a key of 32 bytes and keeps no reference
// to it.
func newAES256(key []byte, instructions bool) cipher.Block {
	if !instructions {
		return aesct.New(key)
	}
	b, err := aes.NewCipher(key)
	if err != nil {
		panic("decrypt: " + err.Error())
	}
	return b
}
