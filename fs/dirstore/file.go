package dirstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// A file is an open regular file.
type file struct {
	s  *Store
	n  *node
	fd int

	// Guarded by Store.mu: who uses fd apart from the caller's own calls.
	borrowed int
	closed   bool

	header *header // nil in LayoutEmpty
	size   int64
	layout store.Layout
}

// Open implements store.Store. A file whose lower size or header is not as the
// format says gives a store.DamagedError or an UnsupportedError; removing it
// works nevertheless.
func (s *Store) Open(nd store.Node, write bool) (store.File, error) {
	n := s.node(nd)
	if write {
		if err := s.writable("open for writing"); err != nil {
			return nil, err
		}
	}
	f, err := s.openFile(n, write)
	if err != nil {
		return nil, fmt.Errorf("dirstore: open %s: %w", n, err)
	}
	if write {
		return &fileWriter{file: f}, nil
	}
	return f, nil
}

func (s *Store) openFile(n *node, write bool) (*file, error) {
	switch n.mode {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		return nil, unix.EISDIR
	default:
		return nil, unix.EINVAL
	}
	var st unix.Statx_t
	fd, err := s.openRegular(n, write, &st)
	if err != nil {
		return nil, err
	}
	f := &file{s: s, n: n, fd: fd}
	if err := f.loadAs(&st); err != nil {
		unix.Close(fd)
		return nil, err
	}
	s.register(f)
	return f, nil
}

// register makes f one of the open files of its node.
func (s *Store) register(f *file) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.n.files = append(f.n.files, f)
	f.n.pins++
}

// openRegular opens the lower file of n and gets its attributes.
func (s *Store) openRegular(n *node, write bool, st *unix.Statx_t) (int, error) {
	flags, bits := unix.O_RDONLY, uint32(unix.S_IRUSR)
	if write {
		flags, bits = unix.O_RDWR, unix.S_IRUSR|unix.S_IWUSR
	}
	// What lies there by now may be a FIFO or a device.
	flags |= unix.O_NONBLOCK | unix.O_NOCTTY

	fd := -1
	err := s.atName(n, func(dirfd int, name string) (err error) {
		fd, err = openat(dirfd, name, flags, 0)
		if err == unix.EACCES {
			fd, err = s.openDespiteMode(n, dirfd, name, flags, bits)
		}
		if err == unix.ENXIO || err == unix.EISDIR {
			return unix.ESTALE
		}
		if err != nil {
			return err
		}
		if err := s.identify(n, fd, st); err != nil {
			unix.Close(fd)
			return err
		}
		return nil
	})
	if err != errGone && err != unix.ESTALE {
		return fd, err
	}
	// Without a name, but perhaps open.
	other := s.borrow(n)
	if other == nil {
		return -1, unix.ESTALE
	}
	defer s.giveBack(other)
	if fd, err = s.reopen(other.fd, flags, bits); err != nil {
		return -1, err
	}
	if err := statx(fd, "", st); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// openDespiteMode opens a file of the process's own whose permissions forbid
// it. Whether the user may open the file has been decided above this package,
// and writing needs reading too.
func (s *Store) openDespiteMode(n *node, dirfd int, name string, flags int, bits uint32) (int, error) {
	path, err := openat(dirfd, name, unix.O_PATH, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(path)
	var st unix.Statx_t
	if err := s.identify(n, path, &st); err != nil {
		return -1, err
	}
	return s.reopen(path, flags, bits)
}

// reopen opens the object of a descriptor once more, with permissions bits
// added to it for the moment if need be.
func (s *Store) reopen(fd, flags int, bits uint32) (int, error) {
	again := -1
	open := func() error {
		return retry(func() (err error) {
			again, err = unix.Open(fdPath(fd), flags|unix.O_CLOEXEC, 0)
			return err
		})
	}
	err := open()
	if err == unix.EACCES {
		err = s.withModes(fd, bits, open)
	}
	return again, err
}

// borrow returns an open file of n, nil if there is none, whose descriptor is
// not closed until giveBack.
func (s *Store) borrow(n *node) *file {
	if n.mode != unix.S_IFREG {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(n.files) == 0 {
		return nil
	}
	f := n.files[0]
	f.borrowed++
	return f
}

func (s *Store) giveBack(f *file) {
	s.mu.Lock()
	f.borrowed--
	last := f.closed && f.borrowed == 0
	s.mu.Unlock()
	if last {
		unix.Close(f.fd)
	}
}

// load reads size, layout and header.
func (f *file) load() error {
	var st unix.Statx_t
	if err := statx(f.fd, "", &st); err != nil {
		return err
	}
	return f.loadAs(&st)
}

// loadAs is load of a file with the given attributes.
func (f *file) loadAs(st *unix.Statx_t) error {
	layout, size, ok := plainSize(int64(st.Size))
	if !ok {
		return f.damaged(fmt.Sprintf("no file is %d bytes long", st.Size))
	}
	var h *header
	if layout != store.LayoutEmpty {
		h = new(header)
		n, err := pread(f.fd, h[:], 0)
		switch {
		case err != nil:
			return err
		case n < headerSize:
			return f.damaged("truncated while it was opened")
		}
		if err := f.checkHeader(h); err != nil {
			return err
		}
	}
	f.header, f.size, f.layout = h, size, layout
	return nil
}

// checkHeader returns an error unless a header is sound.
func (f *file) checkHeader(h *header) error {
	if bad := h.check(typeFile); bad != nil {
		return f.s.badForm(bad, f.n.String())
	}
	if f.s.auth == nil {
		panic("dirstore: not unlocked")
	}
	if !h.verify(f.s.auth) {
		return f.damaged(wrongTag)
	}
	return nil
}

func (f *file) damaged(detail string) error {
	return &store.DamagedError{Path: f.n.String(), Detail: detail}
}

// Close implements io.Closer.
func (f *file) Close() error {
	s := f.s
	s.mu.Lock()
	if f.closed {
		s.mu.Unlock()
		panic("dirstore: file closed twice")
	}
	f.closed = true
	last := f.borrowed == 0
	f.n.files = slices.DeleteFunc(f.n.files, func(o *file) bool { return o == f })
	s.unpin(f.n)
	s.mu.Unlock()
	if !last {
		return nil // whoever borrows it closes it
	}
	// Linux has closed the descriptor even if it says EINTR.
	if err := unix.Close(f.fd); err != nil && err != unix.EINTR {
		return f.failed("close", err)
	}
	return nil
}

// failed wraps an error.
func (f *file) failed(op string, err error) error {
	return fmt.Errorf("dirstore: %s %s: %w", op, f.n, err)
}

// Context implements store.File.
func (f *file) Context() []byte {
	if f.layout == store.LayoutEmpty {
		return nil
	}
	return append([]byte(nil), f.header.context()...)
}

// Size implements store.File.
func (f *file) Size() int64 { return f.size }

// Layout implements store.File.
func (f *file) Layout() store.Layout { return f.layout }

// Attr implements store.File.
func (f *file) Attr() (store.Attr, error) {
	var st unix.Statx_t
	if err := f.s.modes.statx(f.fd, "", &st); err != nil {
		return store.Attr{}, f.failed("attributes of", err)
	}
	return f.n.attr(&st), nil
}

// Reload implements store.File.
func (f *file) Reload() error {
	if err := f.load(); err != nil {
		return f.failed("reload", err)
	}
	return nil
}

// ReadUnits implements store.File. A file that others have truncated gives
// io.ErrUnexpectedEOF.
func (f *file) ReadUnits(dst []byte, first uint64, holes []bool) (int, error) {
	if len(dst)%unitSize != 0 || len(holes) < len(dst)/unitSize {
		panic("dirstore: ReadUnits with a buffer of a wrong length")
	}
	var off int64
	switch f.layout {
	case store.LayoutInline:
		if first > 0 {
			return 0, nil
		}
		off = inlineStart
		dst = dst[:min(int64(len(dst)), roundUp(f.size, inlineUnit))]
	case store.LayoutBlocks:
		units := unitCount(f.size)
		if first >= uint64(units) {
			return 0, nil
		}
		off = unitOffset(int64(first))
		dst = dst[:min(int64(len(dst)), (units-int64(first))*unitSize)]
	}
	if f.layout == store.LayoutEmpty || len(dst) == 0 {
		return 0, nil
	}
	n, err := pread(f.fd, dst, off)
	if err == nil && n < len(dst) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, f.failed("read", err)
	}
	markHoles(dst, holes)
	return n, nil
}

// markHoles says which data units in ct are holes. The last one may be shorter, in
// LayoutInline.
func markHoles(ct []byte, holes []bool) {
	for i := 0; i*unitSize < len(ct); i++ {
		holes[i] = allZero(ct[i*unitSize : min((i+1)*unitSize, len(ct))])
	}
}

// allZero reports whether b, a multiple of 8 bytes, is zero. Of a unit that is
// no hole it usually looks at 8 bytes.
func allZero(b []byte) bool {
	for len(b) >= 32 {
		if binary.NativeEndian.Uint64(b)|binary.NativeEndian.Uint64(b[8:])|
			binary.NativeEndian.Uint64(b[16:])|binary.NativeEndian.Uint64(b[24:]) != 0 {
			return false
		}
		b = b[32:]
	}
	for len(b) >= 8 {
		if binary.NativeEndian.Uint64(b) != 0 {
			return false
		}
		b = b[8:]
	}
	return true
}

// Seek implements store.File. In LayoutInline everything is data, as it is
// where the lower file system does not know its holes.
func (f *file) Seek(off int64, whence int) (int64, error) {
	if whence != unix.SEEK_DATA && whence != unix.SEEK_HOLE {
		return 0, f.failed("seek", unix.EINVAL)
	}
	if off < 0 || off >= f.size {
		return 0, f.failed("seek", unix.ENXIO)
	}
	if f.layout == store.LayoutInline {
		if whence == unix.SEEK_DATA {
			return off, nil
		}
		return f.size, nil
	}
	unit, isHole, err := f.seekUnit(off/unitSize, whence)
	switch {
	case err != nil:
		return 0, f.failed("seek", err)
	case isHole == (whence == unix.SEEK_HOLE) && unit*unitSize < f.size:
		return max(off, unit*unitSize), nil
	case whence == unix.SEEK_HOLE:
		return f.size, nil
	}
	return 0, f.failed("seek", unix.ENXIO)
}

// seekUnit finds the first unit at or after unit that is data or a hole. A
// lower hole may begin or end inside a unit, which is data then. Past the last
// unit there is a hole.
func (f *file) seekUnit(unit int64, whence int) (found int64, isHole bool, err error) {
	units := unitCount(f.size)
	for unit < units {
		data, err := f.seekLower(unitOffset(unit), unix.SEEK_DATA)
		if errors.Is(err, unix.EINVAL) {
			return unit, false, nil // the lower file system does not know its holes
		}
		if errors.Is(err, unix.ENXIO) {
			data, err = unitOffset(units), nil
		}
		if err != nil {
			return 0, false, err
		}
		// Units before that of the next data are holes.
		next := (data - bodyOffset) / unitSize
		if whence == unix.SEEK_DATA {
			return next, next >= units, nil
		}
		if next > unit {
			return unit, true, nil
		}
		hole, err := f.seekLower(unitOffset(unit), unix.SEEK_HOLE)
		if err != nil {
			return 0, false, err
		}
		unit = max(unit+1, (hole-bodyOffset+unitSize-1)/unitSize)
	}
	return unit, true, nil
}

func (f *file) seekLower(off int64, whence int) (pos int64, err error) {
	err = retry(func() (err error) {
		pos, err = unix.Seek(f.fd, off, whence)
		return err
	})
	return pos, err
}
