//go:build !purego && (amd64 || arm64)

package decrypt

import "encfs/decrypt/internal/aesct"

// aes256EncryptAsm encrypts the block lo, hi with the round keys enc. Needs AES.
//
//go:noescape
func aes256EncryptAsm(enc *roundKeys, lo, hi uint64) (outLo, outHi uint64)

// aes256DecryptAsm decrypts the block lo, hi with the round keys dec, inverted ones.
// Needs AES.
//
//go:noescape
func aes256DecryptAsm(dec *roundKeys, lo, hi uint64) (outLo, outHi uint64)

// aes256Asm is AES-256 with AES instructions.
type aes256Asm struct{ enc, dec roundKeys }

// newAES256Asm takes a key of 32 bytes and keeps no reference to it.
func newAES256Asm(key []byte) aes256 {
	c := new(aes256Asm)
	c.setKey(key)
	return c
}

// setKey takes a key of 32 bytes and keeps no reference to it.
func (c *aes256Asm) setKey(key []byte) {
	c.enc.expand(key, aesct.SubWord)
	c.dec.invert(&c.enc, len(key))
}

func (c *aes256Asm) encryptBlock(x block, _ []byte) block {
	lo, hi := aes256EncryptAsm(&c.enc, x.lo, x.hi)
	return block{lo, hi}
}

func (c *aes256Asm) decryptBlock(x block, _ []byte) block {
	lo, hi := aes256DecryptAsm(&c.dec, x.lo, x.hi)
	return block{lo, hi}
}
