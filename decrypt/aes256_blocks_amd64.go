//go:build !purego

package decrypt

// aesBlocks is how many blocks an aes256Blocks takes at once.
const aesBlocks = 8

// aes256Blocks is an aes256 that takes several blocks at once, for which it has a
// faster way than one after the other.
type aes256Blocks interface {
	aes256

	// setKey precedes all other calls. key has 32 bytes; no reference to it is kept.
	setKey(key []byte)

	// encryptBlocks returns the first n blocks of x encrypted, and decryptBlocks
	// decrypted. What the others are is undefined.
	encryptBlocks(x [aesBlocks]block, n int) [aesBlocks]block
	decryptBlocks(x [aesBlocks]block, n int) [aesBlocks]block
}

func (c *aes256Asm) encryptBlocks(x [aesBlocks]block, n int) [aesBlocks]block {
	for i, b := range x[:n] {
		x[i] = c.encryptBlock(b, nil)
	}
	return x
}

func (c *aes256Asm) decryptBlocks(x [aesBlocks]block, n int) [aesBlocks]block {
	for i, b := range x[:n] {
		x[i] = c.decryptBlock(b, nil)
	}
	return x
}
