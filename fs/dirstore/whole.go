package dirstore

import (
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// ReadWhole implements store.WholeReader, with four system calls.
func (s *Store) ReadWhole(nd store.Node, dst []byte, size int64, holes []bool) (context []byte, n int, err error) {
	node := s.node(nd)
	if context, n, err = s.readWhole(node, dst, size, holes); err != nil {
		err = fmt.Errorf("dirstore: read %s: %w", node, err)
	}
	return context, n, err
}

func (s *Store) readWhole(n *node, dst []byte, size int64, holes []bool) ([]byte, int, error) {
	f := &file{s: s, n: n}
	lower := int64(0)
	err := s.atName(n, func(dirfd int, name string) (err error) {
		if f.fd, err = openQuietly(dirfd, name); err != nil {
			return err
		}
		var st unix.Statx_t
		if err = s.identify(n, f.fd, &st); err != nil {
			unix.Close(f.fd)
		}
		lower = int64(st.Size)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	defer unix.Close(f.fd)
	layout, have, ok := plainSize(lower)
	if !ok || have != size {
		return nil, 0, fmt.Errorf("%d bytes are another size than %d", have, size)
	}
	var head [bodyOffset]byte
	start, length := int64(inlineStart), roundUp(size, inlineUnit)
	if layout == store.LayoutBlocks {
		start, length = bodyOffset, roundUp(size, unitSize)
	}
	dst = dst[:length]
	count, err := preadv(f.fd, [][]byte{head[:start], dst}, 0)
	if err != nil {
		return nil, 0, err
	}
	if int64(count) < start+length {
		return nil, 0, io.ErrUnexpectedEOF
	}
	h := (*header)(head[:])
	if err := f.checkHeader(h); err != nil {
		return nil, 0, err
	}
	markHoles(dst, holes)
	return append([]byte(nil), h.context()...), len(dst), nil
}

// openQuietly opens a file for reading without moving its time of access, as far as
// its owner and root may.
func openQuietly(dirfd int, name string) (int, error) {
	const flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY
	fd, err := openat(dirfd, name, flags|unix.O_NOATIME, 0)
	if err == unix.EPERM {
		fd, err = openat(dirfd, name, flags, 0)
	}
	return fd, err
}

// preadv fills the buffers from off on as far as the file goes. It changes bufs.
func preadv(fd int, bufs [][]byte, off int64) (int, error) {
	n := 0
	for len(bufs) > 0 {
		m, err := unix.Preadv(fd, bufs, off+int64(n))
		if err == unix.EINTR {
			continue
		}
		if err != nil || m == 0 {
			return n, err
		}
		n += m
		for len(bufs) > 0 && m >= len(bufs[0]) {
			m -= len(bufs[0])
			bufs = bufs[1:]
		}
		if len(bufs) > 0 {
			bufs[0] = bufs[0][m:]
		}
	}
	return n, nil
}
