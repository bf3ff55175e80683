package keys

import (
	"crypto/aes"
	"crypto/sha512"
)

// deriveV1 fills out, a multiple of 16 bytes, with the key of a v1 policy's inode:
// as many first bytes of the master key, encrypted with AES-128-ECB. The nonce is
// the AES key and the master key the plaintext, as in derive_key_aes in
// fs/crypto/keysetup_v1.c.
func deriveV1(out, master []byte, nonce Nonce) {
	block, err := aes.NewCipher(nonce[:])
	if err != nil {
		panic("keys: " + err.Error()) // 16 bytes are a key
	}
	for i := 0; i < len(out); i += aes.BlockSize {
		block.Encrypt(out[i:], master[i:])
	}
}

// descriptorOf returns the first 8 bytes of SHA-512(SHA-512(key)), which is how the
// fscrypt tools name v1 master keys and protectors.
func descriptorOf(key []byte) Descriptor {
	h := sha512.Sum512(key)
	h = sha512.Sum512(h[:])
	return Descriptor(h[:8])
}
