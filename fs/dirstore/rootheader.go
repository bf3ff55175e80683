package dirstore

import (
	"bytes"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// HeaderSize is the length in bytes of the header of a directory.
const HeaderSize = headerSize

// ParseHeader checks the form of the header of a directory, and returns the 40 bytes of
// its context, which alias b. Its tag is not checked, for which a key is needed. The
// error is a [store.DamagedError], also for another length, or an [UnsupportedError].
func ParseHeader(b []byte) (context []byte, err error) {
	if len(b) != headerSize {
		return nil, &store.DamagedError{Path: headerName, Detail: fmt.Sprintf("%d bytes long, not %d", len(b), headerSize)}
	}
	h := header(b)
	if bad := h.check(typeDir); bad != nil {
		return nil, bad.at(headerName)
	}
	return b[16 : 16+contextSize : 16+contextSize], nil
}

// RootHeaders returns what the root of a cipher directory has for its header, unchecked:
// in its file, of which it reads one byte more than a header has, and in the extended
// attribute of the directory. Either is nil if it is missing. The error wraps the
// errno of what cannot be read, or a [store.DamagedError] for what is no regular file.
func RootHeaders(path string) (file, copied []byte, err error) {
	fd, err := openPath(path)
	if err != nil {
		return nil, nil, err
	}
	defer unix.Close(fd)
	b := make([]byte, headerSize+1)
	n, err := readSmall(fd, headerName, b)
	switch {
	case err == nil:
		file = b[:n]
	case errors.Is(err, unix.ENOENT):
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ELOOP):
		return nil, nil, &store.DamagedError{Path: headerName, Detail: "not a regular file"}
	default:
		return nil, nil, fmt.Errorf("dirstore: %s/%s: %w", path, headerName, err)
	}
	copied, err = getxattr(fd, headerXattr)
	if err != nil { // as there is none, or the file system has no attributes
		copied = nil
	}
	return file, copied, nil
}

// RestoreRoot makes b, a header that [ParseHeader] takes, the header of a root that has
// lost its own or has another one, and writes the copy of it where the file system has
// attributes. The file is replaced in one step, and on stable storage at the end.
func RestoreRoot(path string, b []byte) error {
	if _, err := ParseHeader(b); err != nil {
		panic("dirstore: " + err.Error())
	}
	file, copied, err := RootHeaders(path)
	if err != nil {
		return err
	}
	root, err := openPath(path)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	fd, err := openat(root, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return fmt.Errorf("dirstore: restore %s: %w", path, err)
	}
	defer unix.Close(fd)
	if !bytes.Equal(file, b) {
		if err := replaceFile(fd, headerName, b); err != nil {
			return fmt.Errorf("dirstore: restore %s: %w", path, err)
		}
	}
	if !bytes.Equal(copied, b) {
		h := header(b)
		setxattr(fd, &h)
	}
	if err := retry(func() error { return unix.Fsync(fd) }); err != nil {
		return fmt.Errorf("dirstore: restore %s: %w", path, err)
	}
	return nil
}
