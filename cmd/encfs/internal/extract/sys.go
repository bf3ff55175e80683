package extract

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// retry calls f again while a signal interrupts it.
func retry(f func() error) error {
	for {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
}

func openat(at int, name string, flags int, mode uint32) (fd int, err error) {
	err = retry(func() (err error) {
		fd, err = unix.Openat(at, name, flags|unix.O_CLOEXEC, mode)
		return err
	})
	return fd, err
}

func lstatat(at int, name string, st *unix.Stat_t) error {
	return retry(func() error { return unix.Fstatat(at, name, st, unix.AT_SYMLINK_NOFOLLOW) })
}

// fdPath returns a path that leads to what a descriptor is for, whatever its name is
// by now.
func fdPath(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

// futimens sets the times of access and modification of what is open, without need of
// a path to it.
func futimens(fd int, times []unix.Timespec) error {
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&times[0])), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// pwrite writes all of b.
func pwrite(fd int, b []byte, off int64) error {
	for len(b) > 0 {
		n, err := unix.Pwrite(fd, b, off)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return &CopyError{"write", err}
		}
		b, off = b[n:], off+int64(n)
	}
	return nil
}
