package dirstore

import (
	"fmt"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// GetXattr implements store.Xattrs.
func (s *Store) GetXattr(nd store.Node, name string) ([]byte, error) {
	n := s.node(nd)
	var value []byte
	err := unix.ENODATA
	if !n.hides(name) {
		return value, s.xattr(n, "get", name, func(fd int) (err error) {
			value, err = getxattr(fd, name)
			return err
		})
	}
	return nil, fmt.Errorf("dirstore: get attribute %s of %s: %w", name, n, err)
}

// ListXattr implements store.Xattrs.
func (s *Store) ListXattr(nd store.Node) ([]string, error) {
	n := s.node(nd)
	var names []string
	err := s.xattr(n, "list", "names", func(fd int) error {
		list, err := grow(func(buf []byte) (int, error) { return unix.Listxattr(fdPath(fd), buf) })
		for len(list) > 0 {
			name := unix.ByteSliceToString(list)
			list = list[min(len(name)+1, len(list)):]
			if !n.hides(name) {
				names = append(names, name)
			}
		}
		return err
	})
	return names, err
}

// SetXattr implements store.XattrWriter.
func (s *Store) SetXattr(nd store.Node, name string, value []byte, flags int) error {
	n := s.node(nd)
	return s.changeXattr(n, "set", name, func(fd int) error {
		return unix.Setxattr(fdPath(fd), name, value, flags)
	})
}

// RemoveXattr implements store.XattrWriter.
func (s *Store) RemoveXattr(nd store.Node, name string) error {
	n := s.node(nd)
	return s.changeXattr(n, "remove", name, func(fd int) error {
		return unix.Removexattr(fdPath(fd), name)
	})
}

func (s *Store) changeXattr(n *node, op, name string, f func(fd int) error) error {
	if err := s.writable(op + " attribute"); err != nil {
		return err
	}
	if n.hides(name) {
		return fmt.Errorf("dirstore: %s attribute %s of %s: %w", op, name, n, unix.EPERM)
	}
	return s.xattr(n, op, name, f)
}

func (s *Store) xattr(n *node, op, name string, f func(fd int) error) error {
	err := s.withFD(n, func(fd int) error { return retry(func() error { return f(fd) }) })
	if err != nil {
		return fmt.Errorf("dirstore: %s attribute %s of %s: %w", op, name, n, err)
	}
	return nil
}

// hides reports whether an attribute is the store's own.
func (n *node) hides(name string) bool { return n.dir != nil && name == headerXattr }

// xattrSizeMax is the kernel's XATTR_SIZE_MAX and XATTR_LIST_MAX.
const xattrSizeMax = 64 << 10

func getxattr(fd int, name string) ([]byte, error) {
	return grow(func(buf []byte) (int, error) { return unix.Getxattr(fdPath(fd), name, buf) })
}

// grow calls f with buffers of growing size until one is large enough.
func grow(f func(buf []byte) (int, error)) ([]byte, error) {
	for size := 256; ; size *= 4 {
		buf := make([]byte, size)
		n, err := f(buf)
		switch {
		case err == unix.EINTR:
			size /= 4
		case err != unix.ERANGE || size > xattrSizeMax:
			return buf[:max(n, 0)], err
		}
	}
}
