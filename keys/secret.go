package keys

import (
	"fmt"
	"io"
	"sync/atomic"
)

// A Secret is memory for a key or a passphrase. As far as the system allows it is
// kept out of swap, core dumps and child processes, and lies between pages that
// cannot be accessed. It is not on Go's heap: the garbage collector neither
// copies nor frees it, so whoever makes a Secret closes it.
//
// Printing a Secret, with any verb, shows only its length.
type Secret struct {
	// mem returns the memory. It is a function because fmt, when it prints a struct
	// that has a Secret in a field, cannot call Format and shows what it can reach.
	mem    func() *mapping
	closed atomic.Bool
}

// NewSecret returns n bytes of zeros, n at least 1. An error means that the system
// gave no memory. Where RLIMIT_MEMLOCK is used up the Secret is made all the same,
// and [Secret.Locked] says so; each takes one page of that limit up to 4 KiB.
func NewSecret(n int) (*Secret, error) {
	if n < 1 {
		panic(fmt.Sprintf("keys: NewSecret of %d bytes", n))
	}
	m, err := newMapping(n)
	if err != nil {
		return nil, fmt.Errorf("keys: memory for a secret: %w", err)
	}
	return &Secret{mem: func() *mapping { return m }}, nil
}

// CopySecret returns a Secret with a copy of b, which has at least one byte. The
// caller wipes b.
func CopySecret(b []byte) (*Secret, error) {
	s, err := NewSecret(len(b))
	if err != nil {
		return nil, err
	}
	copy(s.Bytes(), b)
	return s, nil
}

// Bytes returns the memory itself, to read and to write. It must not be used after
// Close, when it is no longer mapped; calling Bytes then panics.
func (s *Secret) Bytes() []byte {
	if s.closed.Load() {
		panic("keys: use of a closed Secret")
	}
	return s.mem().data
}

// Len returns the number of bytes, 0 after Close.
func (s *Secret) Len() int {
	if s.closed.Load() {
		return 0
	}
	return len(s.mem().data)
}

// Locked reports whether the memory is kept out of swap.
func (s *Secret) Locked() bool { return !s.closed.Load() && s.mem().locked }

// Close overwrites the memory with zeros and gives it back to the system. It may
// be called more than once, and on nil, but not while the memory is in use.
func (s *Secret) Close() {
	if s == nil || s.closed.Swap(true) {
		return
	}
	m := s.mem()
	clear(m.data)
	m.free()
}

// Format implements [fmt.Formatter], so that no verb prints the secret.
func (s *Secret) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) }

// String returns a text such as "secret of 32 bytes".
func (s *Secret) String() string {
	if s == nil {
		return "no secret"
	}
	return fmt.Sprintf("secret of %d bytes", s.Len())
}

// GoString returns the same as String.
func (s *Secret) GoString() string { return s.String() }
