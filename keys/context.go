package keys

import (
	"errors"
	"fmt"
)

// NonceSize is the length of a nonce in bytes.
const NonceSize = 16

// A Nonce is the random number of an inode, which sets its key apart from the keys
// of all others.
type Nonce [NonceSize]byte

// The lengths of a context in bytes.
const (
	contextSizeV1 = 28
	contextSizeV2 = 40
)

// A Context is what is stored with an encrypted inode: the policy of its
// directory tree and its own nonce.
//
// Version 1 is 28 bytes, version 2 is 40 (fscrypt_context_v1 and _v2 in
// fs/crypto/fscrypt_private.h):
//
//	offset  size  v1                     offset  size  v2
//	0       1     version, 1             0       1     version, 2
//	1       1     contents mode          1       1     contents mode
//	2       1     filenames mode         2       1     filenames mode
//	3       1     flags                  3       1     flags
//	4       8     descriptor             4       1     log2 of the data unit size
//	12      16    nonce                  5       3     0
//	                                     8       16    identifier
//	                                     24      16    nonce
type Context struct {
	Policy
	Nonce Nonce
}

// ErrBadContext means bytes that are not a context of version 1 or 2.
var ErrBadContext = errors.New("bad encryption context")

// ParseContext reads a context, which is all of b. It accepts any modes, flags and
// data unit size, so that these can be shown; [Policy.Validate] judges them. The
// error is an [ErrBadContext]. b is not kept.
func ParseContext(b []byte) (Context, error) {
	var c Context
	switch {
	case len(b) == contextSizeV1 && b[0] == 1:
		copy(c.Descriptor[:], b[4:12])
		copy(c.Nonce[:], b[12:28])
	case len(b) == contextSizeV2 && b[0] == 2:
		if b[5]|b[6]|b[7] != 0 {
			return Context{}, fmt.Errorf("keys: %w: reserved bytes %x", ErrBadContext, b[5:8])
		}
		c.Log2DataUnitSize = b[4]
		copy(c.Identifier[:], b[8:24])
		copy(c.Nonce[:], b[24:40])
	case len(b) == 0:
		return Context{}, fmt.Errorf("keys: %w: empty", ErrBadContext)
	default:
		return Context{}, fmt.Errorf("keys: %w: version %d in %d bytes", ErrBadContext, b[0], len(b))
	}
	c.Version = b[0]
	c.Contents, c.Filenames, c.Flags = Mode(b[1]), Mode(b[2]), Flags(b[3])
	return c, nil
}

// Marshal returns the stored form, 28 or 40 bytes. It is the inverse of
// [ParseContext]. The version must be 1 or 2.
func (c Context) Marshal() []byte {
	switch c.Version {
	case 1:
		b := make([]byte, contextSizeV1)
		b[0], b[1], b[2], b[3] = 1, uint8(c.Contents), uint8(c.Filenames), uint8(c.Flags)
		copy(b[4:], c.Descriptor[:])
		copy(b[12:], c.Nonce[:])
		return b
	case 2:
		b := make([]byte, contextSizeV2)
		b[0], b[1], b[2], b[3] = 2, uint8(c.Contents), uint8(c.Filenames), uint8(c.Flags)
		b[4] = c.Log2DataUnitSize
		copy(b[8:], c.Identifier[:])
		copy(b[24:], c.Nonce[:])
		return b
	}
	panic(fmt.Sprintf("keys: context of version %d", c.Version))
}
