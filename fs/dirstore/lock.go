package dirstore

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Lock keeps others from opening the cipher directory in a way that does not go
// together with this: one who remembers what it has read locks it for itself
// alone, those who do not, or who only read, with shared set. It does not wait:
// the error wraps EWOULDBLOCK while somebody else has the lock. Close gives it
// up. Where the lower file system has no locks there is none and no error. It is
// not called concurrently with Lock or Close.
func (s *Store) Lock(shared bool) error {
	how := unix.LOCK_EX
	if shared {
		how = unix.LOCK_SH
	}
	fd, err := openat(s.root.dir.fd, headerName, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("dirstore: lock: %w", err)
	}
	err = retry(func() error { return unix.Flock(fd, how|unix.LOCK_NB) })
	if err != nil {
		unix.Close(fd)
		if errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) {
			return nil
		}
		return fmt.Errorf("dirstore: lock: %w", err)
	}
	s.locks = append(s.locks, fd)
	return nil
}
