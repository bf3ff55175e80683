package metadata

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Lock keeps others who call Lock from changing the folder until unlock is called:
// what is to be changed is read again after Lock. The fscrypt tool does not know of
// it, and readers need it not. It does not wait: the error wraps EWOULDBLOCK while
// somebody else has the lock. Where the file system has no locks there is none and
// no error. A folder of an image is an [ErrReadOnly].
func (d *Dir) Lock() (unlock func(), err error) {
	if d.root == nil {
		return nil, fmt.Errorf("metadata: lock: %w", ErrReadOnly)
	}
	f, err := d.root.Open(policiesDir)
	if err != nil {
		return nil, fmt.Errorf("metadata: lock: %w", &FileError{d.name, policiesDir, err})
	}
	if err := flock(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("metadata: lock: %w", &FileError{d.name, policiesDir, err})
	}
	return func() { f.Close() }, nil
}

// flock takes the lock of an open file, which goes when it is closed.
func flock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		// NFS locks only what is open for writing, which a directory cannot be.
		case errors.Is(err, unix.EBADF), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.EOPNOTSUPP),
			errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL):
			return nil
		}
		return err
	}
}
