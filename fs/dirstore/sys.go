package dirstore

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// The system calls, repeated where a signal interrupted them: network file
// systems return EINTR from calls that never do on local ones.

func retry(f func() error) error {
	for {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
}

func openat(dirfd int, name string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Openat(dirfd, name, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, mode)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func unlinkat(dirfd int, name string, flags int) error {
	return retry(func() error { return unix.Unlinkat(dirfd, name, flags) })
}

func ftruncate(fd int, size int64) error {
	return retry(func() error { return unix.Ftruncate(fd, size) })
}

func fallocate(fd int, mode uint32, off, n int64) error {
	return retry(func() error { return unix.Fallocate(fd, mode, off, n) })
}

// renameNew renames without replacing, also on file systems whose renameat2
// takes no flags. There the check and the rename are two steps, between which
// another process may come; a cipher directory is not replaced even so, for it
// is never empty.
func renameNew(fromfd int, from string, tofd int, to string) error {
	err := retry(func() error { return unix.Renameat2(fromfd, from, tofd, to, unix.RENAME_NOREPLACE) })
	if err != unix.EINVAL && err != unix.ENOSYS {
		return err
	}
	var st unix.Statx_t
	switch err := statx(tofd, to, &st); err {
	case nil:
		return unix.EEXIST
	case unix.ENOENT:
		return retry(func() error { return unix.Renameat(fromfd, from, tofd, to) })
	default:
		return err
	}
}

// statx looks at name in a directory, or at the descriptor itself if name is
// empty, and does not follow a symbolic link. A long link is one.
func statx(dirfd int, name string, st *unix.Statx_t) error {
	flags := unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT
	if name == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	for {
		err := unix.Statx(dirfd, name, flags, unix.STATX_BASIC_STATS|unix.STATX_BTIME, st)
		if err == nil {
			showLongLink(st)
		}
		if err != unix.EINTR {
			return err
		}
	}
}

// fdPath returns the path that leads to the object of a descriptor, for the
// calls that take none of O_PATH.
func fdPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// chmod sets permissions through any descriptor, of O_PATH as well.
func chmod(fd int, mode uint32) error {
	return retry(func() error { return unix.Fchmodat(unix.AT_FDCWD, fdPath(fd), mode&0o7777, 0) })
}

// pread fills buf from off as far as the file goes.
func pread(fd int, buf []byte, off int64) (int, error) {
	n := 0
	for n < len(buf) {
		m, err := unix.Pread(fd, buf[n:], off+int64(n))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return n, err
		}
		if m == 0 {
			break
		}
		n += m
	}
	return n, nil
}

// pwritev writes the buffers one after the other to off, in one call unless the
// file system stops in the middle. It returns the number of bytes written,
// fewer than given only with an error.
func pwritev(fd int, bufs [][]byte, off int64) (int, error) {
	written := 0
	for {
		for len(bufs) > 0 && len(bufs[0]) == 0 {
			bufs = bufs[1:]
		}
		if len(bufs) == 0 {
			return written, nil
		}
		n, err := unix.Pwritev(fd, bufs, off+int64(written))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return written, err
		}
		if n == 0 {
			return written, io.ErrShortWrite
		}
		written += n
		for n > 0 && n >= len(bufs[0]) {
			n -= len(bufs[0])
			bufs = bufs[1:]
		}
		if n > 0 {
			bufs[0] = bufs[0][n:]
		}
	}
}

// readSmall reads the beginning of a regular file, up to len(buf) bytes.
func readSmall(dirfd int, name string, buf []byte) (int, error) {
	fd, err := openat(dirfd, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	var st unix.Statx_t
	if err := statx(fd, "", &st); err != nil {
		return 0, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return 0, fmt.Errorf("not a regular file: %w", unix.EINVAL)
	}
	return pread(fd, buf, 0)
}

// writeNew makes a file of the store's own with the given contents, on stable
// storage if asked for. What it cannot finish it removes.
func writeNew(dirfd int, name string, contents []byte, sync bool) error {
	fd, err := openat(dirfd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	_, err = pwritev(fd, [][]byte{contents}, 0)
	if err == nil && sync {
		err = retry(func() error { return unix.Fdatasync(fd) })
	}
	if closeErr := unix.Close(fd); err == nil && closeErr != unix.EINTR {
		err = closeErr
	}
	if err != nil {
		unlinkat(dirfd, name, 0)
	}
	return err
}

// replaceFile is writeNew for a file that may exist, in one step.
func replaceFile(dirfd int, name string, contents []byte) error {
	temp := tempName()
	if err := writeNew(dirfd, temp, contents, true); err != nil {
		return err
	}
	err := retry(func() error { return unix.Renameat(dirfd, temp, dirfd, name) })
	if err != nil {
		unlinkat(dirfd, temp, 0)
	}
	return err
}

// attrOf translates the lower attributes.
func attrOf(st *unix.Statx_t) store.Attr {
	a := store.Attr{
		Dev:    unix.Mkdev(st.Dev_major, st.Dev_minor),
		Ino:    st.Ino,
		Mode:   uint32(st.Mode),
		Nlink:  st.Nlink,
		UID:    st.Uid,
		GID:    st.Gid,
		Rdev:   unix.Mkdev(st.Rdev_major, st.Rdev_minor),
		Size:   int64(st.Size),
		Blocks: int64(st.Blocks),
		Atime:  timeOf(st.Atime),
		Mtime:  timeOf(st.Mtime),
		Ctime:  timeOf(st.Ctime),
	}
	if st.Mask&unix.STATX_BTIME != 0 {
		a.Birthtime = timeOf(st.Btime)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		_, size, ok := plainSize(a.Size)
		if !ok {
			size = 0
		}
		a.Size, a.Damaged = size, !ok
	case unix.S_IFLNK:
		if isLongLink(st) {
			a.Mode, a.Size = unix.S_IFLNK|0o777, a.Size-bodyOffset
			break
		}
		a.Size = max(0, int64(encoding.DecodedLen(int(a.Size)))-nonceSize)
	}
	return a
}

func timeOf(t unix.StatxTimestamp) time.Time { return time.Unix(t.Sec, int64(t.Nsec)) }
