//go:build !purego

package decrypt

import (
	"unsafe"

	"encfs/decrypt/internal/aesct"
)

// aes256BitSliced is AES-256 in constant time without AES instructions, eight blocks at
// a time. A single one takes as long as eight. Needs SSSE3.
type aes256BitSliced struct{ enc, dec bsKeys }

func (c *aes256BitSliced) setKey(key []byte) {
	var enc, dec roundKeys
	enc.expand(key, aesct.SubWord)
	dec.invert(&enc, len(key))
	c.enc.set(&enc, len(key), false)
	c.dec.set(&dec, len(key), true)
	clear(enc[:])
	clear(dec[:])
}

func (c *aes256BitSliced) encryptBlock(x block, _ []byte) block {
	return c.encryptBlocks([aesBlocks]block{x}, 1)[0]
}

func (c *aes256BitSliced) decryptBlock(x block, _ []byte) block {
	return c.decryptBlocks([aesBlocks]block{x}, 1)[0]
}

func (c *aes256BitSliced) encryptBlocks(x [aesBlocks]block, _ int) [aesBlocks]block {
	var none [aesBlocks]block // tweaks, which only XTS has
	bsEncryptSSSE3(&c.enc, bytesOf(&x), bytesOf(&x), bytesOf(&none))
	return x
}

func (c *aes256BitSliced) decryptBlocks(x [aesBlocks]block, _ int) [aesBlocks]block {
	var none [aesBlocks]block
	bsDecryptSSSE3(&c.dec, bytesOf(&x), bytesOf(&x), bytesOf(&none))
	return x
}

// bytesOf returns the first byte of x, which in memory is as its blocks are: amd64 is
// little-endian, as block.
func bytesOf(x *[aesBlocks]block) *byte { return (*byte)(unsafe.Pointer(x)) }
