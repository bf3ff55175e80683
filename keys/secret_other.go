//go:build !linux

package keys

// A mapping is plain memory here.
type mapping struct {
	data   []byte
	locked bool
}

func newMapping(n int) (*mapping, error) { return &mapping{data: make([]byte, n)}, nil }

func (m *mapping) free() {}

// DisableCoreDumps does nothing on this system.
func DisableCoreDumps() error { return nil }
