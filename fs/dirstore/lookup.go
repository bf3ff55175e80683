package dirstore

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// nonceSize is how many bytes of nonce precede the encrypted target in the
// target of a lower symbolic link.
const nonceSize = 16

// Lookup implements store.Store.
func (s *Store) Lookup(nd store.Node, name []byte) (store.Node, store.Attr, error) {
	lower, err := encodeName(name)
	if err != nil {
		return nil, store.Attr{}, err
	}
	return s.lookup(s.node(nd), lower)
}

func (s *Store) lookup(dir *node, lower lowerName) (store.Node, store.Attr, error) {
	dirfd, err := s.use(dir)
	if err != nil {
		return nil, store.Attr{}, fmt.Errorf("dirstore: lookup in %s: %w", dir, err)
	}
	defer s.unuse(dir)
	dir.dir.names.RLock()
	defer dir.dir.names.RUnlock()
	var st unix.Statx_t
	if err := s.modes.statx(dirfd, lower.string, &st); err != nil {
		return nil, store.Attr{}, fmt.Errorf("dirstore: lookup %s: %w", dir.under(lower.string), err)
	}
	n := s.enter(dir, lower.string, &st)
	return n, n.attr(&st), nil
}

// ReadDir implements store.Store. Dirent.Ino is what the lower directory says,
// which for the root of another file system that is mounted there is not what
// Attr says.
func (s *Store) ReadDir(nd store.Node) ([]store.Dirent, error) {
	dir := s.node(nd)
	entries, err := s.readDir(dir)
	if err != nil {
		return nil, fmt.Errorf("dirstore: read directory %s: %w", dir, err)
	}
	return entries, nil
}

func (s *Store) readDir(dir *node) ([]store.Dirent, error) {
	fd, err := s.openDir(dir)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	dir.dir.names.RLock()
	defer dir.dir.names.RUnlock()
	var entries []store.Dirent
	links := false
	err = eachEntry(fd, func(name string, ino uint64, objectType uint32) bool {
		e := store.Dirent{Lower: name, Ino: ino, Type: objectType}
		switch kindOf(name, dir == s.root) {
		case nameObject:
			e.Name, e.Err = decodeName(name)
		case nameLong:
			e.Name, e.Err = readSidecar(fd, name)
			if e.Err != nil && statx(fd, name, new(unix.Statx_t)) == unix.ENOENT {
				return true // removed meanwhile, together with its sidecar
			}
		case nameLinks:
			links = true
			return true
		case nameForeign:
			s.said.warn("not an object of encfs, and not shown", dir.under(name))
			return true
		default:
			return true
		}
		if e.Err != nil {
			s.said.warn("bad name", dir.under(name), "error", e.Err)
		}
		entries = append(entries, e)
		return true
	})
	if links {
		findLongLinks(fd, entries)
	}
	return entries, err
}

// eachEntry calls f for the entries of a directory except "." and ".." until
// it returns false. The type is 0 if the file system does not say it.
func eachEntry(fd int, f func(name string, ino uint64, objectType uint32) bool) error {
	// struct linux_dirent64 of getdents64(2)
	const (
		reclenOffset = 16
		typeOffset   = 18
		nameOffset   = 19
	)
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.Getdents(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return err
		}
		for rest := buf[:n]; len(rest) > 0; {
			entry := rest[:binary.NativeEndian.Uint16(rest[reclenOffset:])]
			rest = rest[len(entry):]
			name := unix.ByteSliceToString(entry[nameOffset:])
			if name == "." || name == ".." {
				continue
			}
			if !f(name, binary.NativeEndian.Uint64(entry), uint32(entry[typeOffset])<<12) {
				return nil
			}
		}
	}
}

// Context implements store.Store. The policy of a symbolic link's context is
// that of the directory that holds it.
func (s *Store) Context(nd store.Node) ([]byte, error) {
	n := s.node(nd)
	var context []byte
	var err error
	switch n.mode {
	case unix.S_IFDIR:
		context, err = s.dirContext(n)
	case unix.S_IFLNK:
		context, err = s.linkContext(n)
	}
	if err != nil {
		return nil, fmt.Errorf("dirstore: context of %s: %w", n, err)
	}
	return context, nil
}

func (s *Store) linkContext(n *node) ([]byte, error) {
	target, err := s.readlink(n)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	if len(n.locations) == 0 {
		s.mu.Unlock()
		return nil, unix.ESTALE
	}
	dir := n.locations[0].dir
	dir.pins++
	s.mu.Unlock()
	policy, err := s.dirContext(dir)
	s.mu.Lock()
	s.unpin(dir)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	context := append([]byte(nil), policy...)
	copy(context[contextSize-nonceSize:], target[:nonceSize])
	return context, nil
}

// Readlink implements store.Store.
func (s *Store) Readlink(nd store.Node) ([]byte, error) {
	n := s.node(nd)
	target, err := s.readlink(n)
	if err != nil {
		return nil, fmt.Errorf("dirstore: read link %s: %w", n, err)
	}
	return target[nonceSize:], nil
}

// readlink returns nonce and encrypted target.
func (s *Store) readlink(n *node) ([]byte, error) {
	if n.mode != unix.S_IFLNK {
		return nil, unix.EINVAL
	}
	if n.long {
		return s.readLongLink(n)
	}
	var buf [unix.PathMax]byte
	var size int
	err := s.withFD(n, func(fd int) error {
		return retry(func() (err error) {
			size, err = unix.Readlinkat(fd, "", buf[:])
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	target, err := decode(string(buf[:size]))
	switch {
	case err != nil:
		return nil, &store.DamagedError{Path: n.String(), Detail: "the target is " + err.Error()}
	case len(target) < nonceSize+minName:
		return nil, &store.DamagedError{Path: n.String(), Detail: fmt.Sprintf("a target of %d bytes is too short", len(target))}
	}
	return target, nil
}

// errNoHeader stands for a header file that is not there, or so short as a
// crash leaves it.
var errNoHeader = errors.New("no header")

const wrongTag = "the header's tag is wrong: it is damaged, or of another key"

// dirContext returns the context of a directory, which the caller does not
// change. Its header is read and verified once.
func (s *Store) dirContext(n *node) ([]byte, error) {
	s.mu.Lock()
	context := n.dir.context
	s.mu.Unlock()
	if context != nil {
		return context, nil
	}
	if s.auth == nil {
		panic("dirstore: not unlocked")
	}
	dirfd, err := s.use(n)
	if err != nil {
		return nil, err
	}
	defer s.unuse(n)
	h := new(header)
	err = s.readDirHeader(n, dirfd, h)
	if err == errNoHeader {
		err = s.restoreDirHeader(n, dirfd, h)
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n.dir.context = h.context()
	return n.dir.context, nil
}

func (s *Store) readDirHeader(n *node, dirfd int, h *header) error {
	size, err := readSmall(dirfd, headerName, h[:])
	path := n.under(headerName)
	switch {
	case errors.Is(err, unix.ENOENT), err == nil && size < headerSize:
		return errNoHeader
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ELOOP):
		return &store.DamagedError{Path: path, Detail: "not a regular file"}
	case err != nil:
		return fmt.Errorf("%s: %w", headerName, err)
	}
	if bad := h.check(typeDir); bad != nil {
		return s.badForm(bad, path)
	}
	if !h.verify(s.auth) {
		return &store.DamagedError{Path: path, Detail: wrongTag}
	}
	return nil
}

// headerXattr is the attribute of a directory that holds a copy of its header.
const headerXattr = "user.encfs.dir"

// restoreDirHeader gets the header of a directory that has lost it from the
// copy, and writes it back.
func (s *Store) restoreDirHeader(n *node, dirfd int, h *header) error {
	path := n.under(headerName)
	value, err := getxattr(dirfd, headerXattr)
	if err != nil || len(value) != headerSize {
		return &store.DamagedError{Path: path, Detail: "missing, and there is no copy of it"}
	}
	copy(h[:], value)
	if h.check(typeDir) != nil || !h.verify(s.auth) {
		return &store.DamagedError{Path: path, Detail: "missing, and the copy of it is not valid"}
	}
	var writeErr error = unix.EROFS
	if !s.opt.ReadOnly {
		writeErr = replaceFile(dirfd, headerName, h[:])
	}
	if writeErr != nil {
		s.said.warn("the header of a directory is lost; its copy is used and could not be written back", path, "error", writeErr)
	} else {
		s.said.warn("the header of a directory was lost and has been restored from its copy", path)
	}
	return nil
}
