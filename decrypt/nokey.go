package decrypt

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

const (
	noKeyHeader = 8   // bytes of the two hashes
	noKeyPrefix = 149 // most bytes of ciphertext in a no-key name
	noKeyMax    = noKeyHeader + noKeyPrefix + sha256.Size
)

// ErrNoKeyName means a string that is not a no-key name.
var ErrNoKeyName = errors.New("not a no-key name")

// noKeyEncoding is strict, so that a name has one encoding only.
var noKeyEncoding = base64.RawURLEncoding.Strict()

// A NoKey is what a no-key name says of the encrypted name that it stands for.
type NoKey struct {
	Hash, Minor uint32 // of the directory's index, 0 if it has none
	Ciphertext  []byte // the encrypted name, or the first 149 bytes of a longer one
	Digest      []byte // SHA-256 of the bytes after the first 149, or nil if there are none
}

// NoKeyName returns the name that is shown, while the key is absent, for a file
// whose encrypted name is ciphertext, of at least one byte. hash and minor are
// those that the file system finds the name by, or 0: always so for the targets
// of symlinks. The result is unique in the directory and has at most 252 bytes,
// all of them of the alphabet of base64url.
//
// It is fscrypt_fname_disk_to_usr without a key, in fs/crypto/fname.c.
func NoKeyName(hash, minor uint32, ciphertext []byte) string {
	if len(ciphertext) == 0 {
		panic("decrypt: no-key name of an empty name")
	}
	b := make([]byte, 0, noKeyMax)
	b = binary.LittleEndian.AppendUint32(b, hash)
	b = binary.LittleEndian.AppendUint32(b, minor)
	b = append(b, ciphertext[:min(len(ciphertext), noKeyPrefix)]...)
	if len(ciphertext) > noKeyPrefix {
		digest := sha256.Sum256(ciphertext[noKeyPrefix:])
		b = append(b, digest[:]...)
	}
	return noKeyEncoding.EncodeToString(b)
}

// ParseNoKeyName returns what the no-key name s says. It takes the strings of the
// form that NoKeyName gives them, in that one spelling; the error for others is
// an ErrNoKeyName.
func ParseNoKeyName(s string) (NoKey, error) {
	if strings.ContainsAny(s, "\r\n") { // which the base64 decoder would skip
		return NoKey{}, fmt.Errorf("decrypt: %w: not base64url", ErrNoKeyName)
	}
	b, err := noKeyEncoding.DecodeString(s)
	if err != nil {
		return NoKey{}, fmt.Errorf("decrypt: %w: not base64url", ErrNoKeyName)
	}
	n := len(b) - noKeyHeader
	if n < 1 || n > noKeyPrefix && len(b) != noKeyMax {
		return NoKey{}, fmt.Errorf("decrypt: %w: %d bytes once decoded", ErrNoKeyName, len(b))
	}
	k := NoKey{
		Hash:       binary.LittleEndian.Uint32(b[0:]),
		Minor:      binary.LittleEndian.Uint32(b[4:]),
		Ciphertext: b[noKeyHeader:],
	}
	if n > noKeyPrefix {
		k.Ciphertext, k.Digest = k.Ciphertext[:noKeyPrefix], k.Ciphertext[noKeyPrefix:]
	}
	return k, nil
}

// Matches reports whether k stands for the encrypted name ciphertext. The hashes
// have no part in that.
func (k NoKey) Matches(ciphertext []byte) bool {
	if k.Digest == nil {
		return bytes.Equal(ciphertext, k.Ciphertext)
	}
	if len(ciphertext) <= noKeyPrefix || !bytes.Equal(ciphertext[:noKeyPrefix], k.Ciphertext) {
		return false
	}
	digest := sha256.Sum256(ciphertext[noKeyPrefix:])
	return bytes.Equal(digest[:], k.Digest)
}
