package metadata

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"

	"encfs/keys"
	"encfs/keys/metadata/internal/pb"
)

// Lengths in bytes.
const (
	wrappingKeySize  = 32 // what wraps: a hashed passphrase, a raw key or a protector key
	protectorKeySize = 32
	policyKeySize    = 64
	ivSize           = 16
	hmacSize         = sha256.Size
	saltSize         = 16
)

// stretch returns the two keys that a wrapping key stands for: HKDF-SHA256 without
// salt and info, 64 bytes, in one Secret that the caller closes.
func stretch(wrapping []byte) (both *keys.Secret, encryption, mac []byte, err error) {
	b, err := hkdf.Key(sha256.New, wrapping, nil, "", 2*32)
	if err != nil {
		panic("metadata: hkdf: " + err.Error()) // 64 bytes can be had
	}
	defer clear(b)
	both, err = keys.CopySecret(b)
	if err != nil {
		return nil, nil, nil, err
	}
	return both, both.Bytes()[:32], both.Bytes()[32:], nil
}

// wrap encrypts secret with AES-256-CTR and authenticates IV and ciphertext with
// HMAC-SHA256. The IV is random.
func wrap(wrapping, secret []byte) (*pb.WrappedKeyData, error) {
	iv := make([]byte, ivSize)
	rand.Read(iv)
	return wrapWithIV(wrapping, secret, iv)
}

func wrapWithIV(wrapping, secret, iv []byte) (*pb.WrappedKeyData, error) {
	both, encryption, mac, err := stretch(wrapping)
	if err != nil {
		return nil, err
	}
	defer both.Close()
	w := &pb.WrappedKeyData{IV: iv, EncryptedKey: make([]byte, len(secret))}
	ctr(encryption, iv).XORKeyStream(w.EncryptedKey, secret)
	w.Hmac = tag(mac, w)
	return w, nil
}

// unwrap is the inverse of wrap. The error is ErrWrongSecret if the HMAC does not
// fit.
func unwrap(wrapping []byte, w *pb.WrappedKeyData) (*keys.Secret, error) {
	both, encryption, mac, err := stretch(wrapping)
	if err != nil {
		return nil, err
	}
	defer both.Close()
	if !hmac.Equal(tag(mac, w), w.GetHmac()) {
		return nil, ErrWrongSecret
	}
	secret, err := keys.NewSecret(len(w.GetEncryptedKey()))
	if err != nil {
		return nil, err
	}
	ctr(encryption, w.GetIV()).XORKeyStream(secret.Bytes(), w.GetEncryptedKey())
	return secret, nil
}

func ctr(key, iv []byte) cipher.Stream {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic("metadata: " + err.Error()) // 32 bytes are a key
	}
	return cipher.NewCTR(block, iv)
}

func tag(mac []byte, w *pb.WrappedKeyData) []byte {
	h := hmac.New(sha256.New, mac)
	h.Write(w.GetIV())
	h.Write(w.GetEncryptedKey())
	return h.Sum(nil)
}

// checkWrapped checks the lengths of a wrapped key of size bytes, which unwrap relies
// on.
func checkWrapped(w *pb.WrappedKeyData, size int) error {
	if n := len(w.GetIV()); n != ivSize {
		return damaged("IV of %d bytes", n)
	}
	if n := len(w.GetEncryptedKey()); n != size {
		return damaged("wrapped key of %d bytes, want %d", n, size)
	}
	if n := len(w.GetHmac()); n != hmacSize {
		return damaged("HMAC of %d bytes", n)
	}
	return nil
}

// descriptorOf returns the descriptor of a protector key: 16 digits, the first 8
// bytes of SHA-512(SHA-512(key)).
func descriptorOf(protectorKey []byte) string {
	h := sha512.Sum512(protectorKey)
	h = sha512.Sum512(h[:])
	return hex.EncodeToString(h[:8])
}

// The lengths of names in hexadecimal digits.
const (
	descriptorDigits = 16 // of protectors and of v1 policies
	identifierDigits = 32 // of v2 policies
)

// isHex reports whether s is n lower-case hexadecimal digits. Nothing else names a
// file, so that no content of a folder leads out of it.
func isHex(s string, n int) bool {
	if len(s) != n {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
