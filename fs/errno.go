package fs

import (
	"errors"
	"syscall"

	"encfs/keys"
	"encfs/workqueue"
)

// Errno returns the errno of an error, 0 for nil: the one place where errors
// become numbers. What it does not know is EIO, damage among it; it never
// returns ENOSYS, after which the kernel would stop asking.
func Errno(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok && errno != 0 && errno != syscall.ENOSYS {
		return errno
	}
	switch {
	case errors.Is(err, keys.ErrNoKey):
		return syscall.ENOKEY
	case errors.Is(err, workqueue.ErrCanceled):
		return syscall.EINTR
	}
	return syscall.EIO
}
