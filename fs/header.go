package fs

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"sync"

	"encfs/keys"
)

// A HeaderAuthenticator computes the tags of the headers in a cipher directory:
// HMAC-SHA-256 under a key derived from the master key. It is safe for
// concurrent use.
type HeaderAuthenticator struct {
	macs sync.Pool
}

// NewHeaderAuthenticator returns the authenticator of headers under a master
// key, which it does not keep.
func NewHeaderAuthenticator(mk *keys.MasterKey) *HeaderAuthenticator {
	key := make([]byte, keys.DirectoryKeySize)
	mk.DeriveDirectory(keys.HeaderTags, key)
	return &HeaderAuthenticator{macs: sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}
}

// Tag writes the tag of a message to dst.
func (a *HeaderAuthenticator) Tag(dst *[32]byte, message []byte) {
	m := a.macs.Get().(hash.Hash)
	m.Reset()
	m.Write(message)
	m.Sum(dst[:0])
	a.macs.Put(m)
}
