package dirstore

import (
	"crypto/subtle"
	"encoding/binary"
	"fmt"
)

// Sizes in the format, in bytes.
const (
	headerSize  = 128
	contextSize = 40 // fscrypt_context_v2
	tagOffset   = 64
)

// Types of object in a header.
const (
	typeFile = 1
	typeDir  = 2
	typeLink = 3 // see longlink.go
)

const (
	magic         = "encfsobj"
	formatVersion = 1
)

// An Authenticator computes the keyed tag of headers, HMAC-SHA-256 in format 1.
type Authenticator interface {
	// Tag sets dst to the tag of message, the first 64 bytes of a header. It
	// is safe for concurrent use and keeps neither argument.
	Tag(dst *[32]byte, message []byte)
}

// UnsupportedError means that an object is of a version of the format, or uses
// a feature of it, that this program does not know.
type UnsupportedError struct {
	Path    string // where it lies in the cipher directory
	Feature string // what is not known: "format version 2", "feature bit 3"
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s: %s is not supported", e.Path, e.Feature)
}

// A header stands at the beginning of every file that is not empty, and is the
// contents of every directory's header file:
//
//	offset size
//	     0    8 magic "encfsobj"
//	     8    1 format version
//	     9    1 type of object
//	    10    1 log2 of the offset of the data units
//	    11    1 0
//	    12    4 feature flags, little-endian
//	    16   40 context
//	    56    8 0
//	    64   32 tag of bytes 0 to 63
//	    96   32 0
type header [headerSize]byte

// newHeader returns the header of an object. context has 40 bytes.
func newHeader(objectType byte, context []byte, auth Authenticator) *header {
	if len(context) != contextSize {
		panic(fmt.Sprintf("dirstore: context of %d bytes", len(context)))
	}
	h := new(header)
	copy(h[0:], magic)
	h[8] = formatVersion
	h[9] = objectType
	h[10] = bodyShift
	copy(h[16:], context)
	auth.Tag((*[32]byte)(h[tagOffset:]), h[:tagOffset])
	return h
}

// context returns the context in a header; it aliases the header.
func (h *header) context() []byte { return h[16 : 16+contextSize : 16+contextSize] }

// A formError says what is wrong with the form of a header. Either string is
// empty.
type formError struct {
	damage  string // for a store.DamagedError
	feature string // for an UnsupportedError
}

// check looks at everything in a header but the tag.
func (h *header) check(objectType byte) *formError {
	if string(h[:8]) != magic {
		return &formError{damage: "the header's magic number is wrong"}
	}
	if h[8] != formatVersion {
		return &formError{feature: fmt.Sprintf("format version %d", h[8])}
	}
	if flags := binary.LittleEndian.Uint32(h[12:]); flags != 0 {
		bit := 0
		for flags&1 == 0 {
			flags >>= 1
			bit++
		}
		return &formError{feature: fmt.Sprintf("feature bit %d", bit)}
	}
	if h[10] != bodyShift {
		return &formError{feature: fmt.Sprintf("body at offset 2^%d", h[10])}
	}
	if h[9] != objectType {
		return &formError{damage: fmt.Sprintf("the header is that of an object of type %d, not %d", h[9], objectType)}
	}
	return nil
}

// verify reports whether the tag is right.
func (h *header) verify(auth Authenticator) bool {
	var tag [32]byte
	auth.Tag(&tag, h[:tagOffset])
	return subtle.ConstantTimeCompare(tag[:], h[tagOffset:tagOffset+len(tag)]) == 1
}
