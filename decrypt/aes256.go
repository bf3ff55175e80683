package decrypt

import (
	"crypto/cipher"

	"encfs/decrypt/internal/aesct"
)

// aes256 is AES-256 of single blocks. Its methods allocate nothing and are safe for
// concurrent use. They may use the first 16 bytes of scratch; see block.encrypt.
type aes256 interface {
	encryptBlock(x block, scratch []byte) block
	decryptBlock(x block, scratch []byte) block
}

// newAES256Sliced returns a bit-sliced one: constant time without AES instructions,
// where crypto/aes uses lookup tables. It takes a key of 32 bytes and keeps no
// reference to it.
func newAES256Sliced(key []byte) aes256 { return aes256Block{aesct.New(key)} }

// aes256Block makes an aes256 of a cipher.Block.
type aes256Block struct{ cipher.Block }

func (c aes256Block) encryptBlock(x block, scratch []byte) block { return x.encrypt(c.Block, scratch) }

func (c aes256Block) decryptBlock(x block, scratch []byte) block { return x.decrypt(c.Block, scratch) }
