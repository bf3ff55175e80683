package decrypt

import (
	"bytes"
	"errors"
	"fmt"

	"encfs/keys"
)

var (
	// ErrNameTooLong means a name or target that is longer than what can be stored.
	ErrNameTooLong = errors.New("name too long")

	// ErrInvalidName means bytes that cannot be a name or target. As the result of
	// decryption it comes from damage or, with policies of version 1, from a
	// wrong key.
	ErrInvalidName = errors.New("invalid name")
)

// MinNameSize is the least length of an encrypted name or target, in bytes.
const MinNameSize = blockSize

// Names encrypts and decrypts the names in one directory, or the target of one
// symlink: with the key of that directory or symlink. Names of equal
// plaintext in one directory have equal ciphertext. It is safe for concurrent use.
//
// It does what fs/crypto/fname.c and, for targets, hooks.c do in the kernel.
type Names struct {
	cipher  Cipher
	padding int
	iv      []byte // the same for all names, not changed after NewNames
}

// NewNames returns the Names of the directory or symlink that k is the key of,
// with the cipher of d. padding is the policy's: 4, 8, 16 or 32 bytes. The
// Names keeps no reference to k, and the caller should wipe it.
//
// A driver of another algorithm than that of k's mode is an ErrAlgorithm.
func NewNames(k *keys.FileKey, d Driver, padding int) (*Names, error) {
	switch padding {
	case 4, 8, 16, 32:
	default:
		panic(fmt.Sprintf("decrypt: padding of names to %d bytes", padding))
	}
	c, err := newCipher(k, d)
	if err != nil {
		return nil, err
	}
	iv := make([]byte, k.Mode().IVSize())
	k.PutIV(iv, 0)
	return &Names{c, padding, iv}, nil
}

// PaddedSize returns the length of the ciphertext of a name of size bytes where at
// most limit bytes can be stored: size, but at least 16, rounded up to the padding,
// but at most limit.
func (n *Names) PaddedSize(size, limit int) int {
	size = max(size, MinNameSize)
	return min((size+n.padding-1)/n.padding*n.padding, limit)
}

// Encrypt returns the ciphertext of a name, which is at most limit bytes long.
// limit is at least 16: 255 for the names in a directory; for the target of a
// symlink 3 less than the size of a file system block.
//
// A name longer than limit is an ErrNameTooLong. One that decryption could not give
// back, being empty or containing a NUL, is an ErrInvalidName. Whether it makes
// sense otherwise is not checked; see [ValidName].
func (n *Names) Encrypt(name []byte, limit int) ([]byte, error) {
	if limit < MinNameSize {
		panic(fmt.Sprintf("decrypt: names of at most %d bytes", limit))
	}
	if len(name) > limit {
		return nil, fmt.Errorf("decrypt: %w: %d bytes, at most %d fit", ErrNameTooLong, len(name), limit)
	}
	if len(name) == 0 || bytes.IndexByte(name, 0) >= 0 {
		return nil, fmt.Errorf("decrypt: %w: empty, or with a NUL", ErrInvalidName)
	}
	b := make([]byte, n.PaddedSize(len(name), limit))
	copy(b, name)
	n.cipher.Encrypt(b, b, n.iv)
	return b, nil
}

// Decrypt returns the name of which ciphertext is the encryption, without its
// padding: up to the first NUL. It leaves ciphertext alone.
//
// Ciphertext of less than 16 bytes, and an empty result, are an ErrInvalidName.
// There is no other check of the result: names in a directory are to be checked
// with [ValidName].
func (n *Names) Decrypt(ciphertext []byte) ([]byte, error) {
	if len(ciphertext) < MinNameSize {
		return nil, fmt.Errorf("decrypt: %w: ciphertext of %d bytes", ErrInvalidName, len(ciphertext))
	}
	b := make([]byte, len(ciphertext))
	n.cipher.Decrypt(b, ciphertext, n.iv)
	b, _, _ = bytes.Cut(b, []byte{0})
	if len(b) == 0 {
		return nil, fmt.Errorf("decrypt: %w: empty once decrypted", ErrInvalidName)
	}
	return b, nil
}

// ValidName returns an ErrInvalidName if name cannot stand for a file in a
// directory: if it is empty, "." or "..", or contains a slash or a NUL. Targets of
// symlinks need not be valid names.
func ValidName(name []byte) error {
	switch {
	case len(name) == 0:
		return fmt.Errorf("decrypt: %w: empty", ErrInvalidName)
	case string(name) == ".", string(name) == "..":
		return fmt.Errorf("decrypt: %w: dot or dot-dot", ErrInvalidName)
	case bytes.IndexByte(name, '/') >= 0:
		return fmt.Errorf("decrypt: %w: contains a slash", ErrInvalidName)
	case bytes.IndexByte(name, 0) >= 0:
		return fmt.Errorf("decrypt: %w: contains a NUL", ErrInvalidName)
	}
	return nil
}
