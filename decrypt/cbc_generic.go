package decrypt

import "crypto/cipher"

// cbcEncrypt encrypts the whole blocks of src to dst in CBC mode and returns the
// last block of ciphertext, or iv if there is none: the iv for going on.
func cbcEncrypt(c cipher.Block, dst, src []byte, iv block) block {
	for len(src) > 0 {
		iv = loadBlock(src).xor(iv).encrypt(c, dst)
		dst, src = dst[blockSize:], src[blockSize:]
	}
	return iv
}

// cbcDecrypt is the inverse of cbcEncrypt. It returns the same block.
func cbcDecrypt(c cipher.Block, dst, src []byte, iv block) block {
	for len(src) > 0 {
		x := loadBlock(src)
		x.decrypt(c, dst).xor(iv).store(dst)
		dst, src, iv = dst[blockSize:], src[blockSize:], x
	}
	return iv
}
