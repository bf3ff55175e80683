package dirstore

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A modeLock keeps attributes from being read while the permissions of an
// object are other than they should be, because its owner, who is not root,
// needs them for a moment to do what an open descriptor allows or what the
// store's own files need.
type modeLock struct {
	mu     sync.Mutex
	change atomic.Uint64 // odd while permissions are changed
}

// begin and end enclose a change that is taken back.
func (l *modeLock) begin() {
	l.mu.Lock()
	l.change.Add(1)
}

func (l *modeLock) end() {
	l.change.Add(1)
	l.mu.Unlock()
}

// statx is the function statx outside of such changes.
func (l *modeLock) statx(dirfd int, name string, st *unix.Statx_t) error {
	before := l.change.Load()
	if before&1 == 0 {
		err := statx(dirfd, name, st)
		if l.change.Load() == before {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return statx(dirfd, name, st)
}

// withModes calls f while the object of fd, a descriptor of any kind, has at
// least the permissions bits, and restores them afterwards. It fails with EACCES where the
// process does not own the object.
func (s *Store) withModes(fd int, bits uint32, f func() error) error {
	s.modes.begin()
	defer s.modes.end()
	var st unix.Statx_t
	if err := statx(fd, "", &st); err != nil {
		return err
	}
	mode := uint32(st.Mode) & 0o7777
	if mode&bits == bits || chmod(fd, mode|bits) != nil {
		return unix.EACCES
	}
	err := f()
	if chmodErr := chmod(fd, mode); err == nil {
		err = chmodErr
	}
	return err
}
