package decrypt

import (
	"crypto/cipher"
	"sync"

	"encfs/cpufeat"
)

// aes256 is AES-256 of single blocks. Its methods allocate nothing and are safe for
// concurrent use. They may use the first 16 bytes of scratch; see block.encrypt.
//
// newAES256 returns one that is constant time: it uses instructions where the CPU
// has them, and otherwise is bit-sliced, unlike crypto/aes, which then uses lookup
// tables. It takes a key of 32 bytes and keeps no reference to it.
type aes256 interface {
	encryptBlock(x block, scratch []byte) block
	decryptBlock(x block, scratch []byte) block
}

// hasAES reports whether the CPU has AES instructions.
var hasAES = sync.OnceValue(func() bool { return cpufeat.Host().Has(cpufeat.AES) })

// aes256Block makes an aes256 of a cipher.Block.
type aes256Block struct{ cipher.Block }

func (c aes256Block) encryptBlock(x block, scratch []byte) block { return x.encrypt(c.Block, scratch) }

func (c aes256Block) decryptBlock(x block, scratch []byte) block { return x.decrypt(c.Block, scratch) }
