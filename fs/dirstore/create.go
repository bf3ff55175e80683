package dirstore

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// Create makes the existing directory path, which must be empty except for
// .fscrypt, the root of a cipher directory with the given context of 40 bytes:
// it writes the root's header, in one step and to stable storage. The error
// wraps EEXIST if it is the root of one already, ENOTEMPTY if there is something
// else in it.
func Create(path string, context []byte, auth Authenticator) error {
	h := newHeader(typeDir, context, auth)
	fd, err := openPath(path)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := createRoot(fd, h); err != nil {
		return fmt.Errorf("dirstore: create %s: %w", path, err)
	}
	return nil
}

func createRoot(path int, h *header) error {
	fd, err := openat(path, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var other string
	var leavings []string
	err = eachEntry(fd, func(name string, _ uint64, objectType uint32) bool {
		switch kind := kindOf(name, true); {
		case kind == nameMetadata:
		case kind == nameTemp && objectType == unix.S_IFREG:
			leavings = append(leavings, name)
		default:
			other = name
		}
		return other != headerName
	})
	switch {
	case err != nil:
		return err
	case other == headerName:
		return fmt.Errorf("it is an encrypted directory already: %w", unix.EEXIST)
	case other != "":
		return fmt.Errorf("%q is in it: %w", other, unix.ENOTEMPTY)
	}
	temp := tempName()
	if err := writeNew(fd, temp, h[:], true); err != nil {
		return err
	}
	setxattr(fd, h)
	if err := renameNew(fd, temp, fd, headerName); err != nil {
		unlinkat(fd, temp, 0)
		return err
	}
	for _, name := range leavings {
		unlinkat(fd, name, 0)
	}
	return retry(func() error { return unix.Fsync(fd) })
}

func setxattr(fd int, h *header) error {
	return retry(func() error { return unix.Setxattr(fdPath(fd), headerXattr, h[:], 0) })
}

// make calls f to make an object in a directory: with the lower name, the
// sidecar if it has one in place, and a descriptor of the directory whose names
// are locked. f returns a descriptor of the new object, which may be of O_PATH
// and is the caller's; if the object cannot get its owner and mode it is
// removed again.
func (s *Store) make(op string, dir *node, name []byte, mode uint32, owner store.Owner,
	f func(dirfd int, lower string) (int, error)) (fd int, n *node, st unix.Statx_t, err error) {
	if err := s.writable(op); err != nil {
		return -1, nil, st, err
	}
	lower, err := encodeName(name)
	if err != nil {
		return -1, nil, st, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("dirstore: %s %s: %w", op, dir.under(lower.string), err)
		}
	}()
	dirfd, err := s.use(dir)
	if err != nil {
		return -1, nil, st, err
	}
	defer s.unuse(dir)
	dir.dir.names.Lock()
	defer dir.dir.names.Unlock()
	sidecar, err := s.writeSidecar(dirfd, lower)
	if err != nil {
		return -1, nil, st, err
	}
	fd, err = f(dirfd, lower.string)
	if err == nil {
		if err = s.endow(dirfd, fd, mode, owner, &st); err != nil {
			unix.Close(fd)
			unlinkat(dirfd, lower.string, 0)
		}
	}
	if err != nil {
		s.retractSidecar(dirfd, lower, sidecar, err)
		return -1, nil, st, err
	}
	s.confirmSidecar(dir, dirfd, lower)
	return fd, s.enter(dir, lower.string, &st), st, nil
}

// endow gives a new object, fd, in a directory its owner and its permissions,
// and gets its attributes.
func (s *Store) endow(dirfd, fd int, mode uint32, owner store.Owner, st *unix.Statx_t) error {
	if err := statx(fd, "", st); err != nil {
		return err
	}
	uid, gid := owner.UID, owner.GID
	if uid == int(st.Uid) {
		uid = -1
	}
	if gid == int(st.Gid) {
		gid = -1
	}
	if uid != -1 || gid != -1 {
		if err := chown(fd, uid, gid); err != nil {
			return err
		}
		if err := statx(fd, "", st); err != nil {
			return err
		}
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return nil
	}
	return s.permit(dirfd, fd, mode, st)
}

// permit gives a new object in a directory its permissions. The lower file
// system has applied a default ACL of the directory, which stands in for the
// umask and has the last word on permission bits. Without one, what is missing
// was masked by the umask of the process, and comes back; the set-ID bits may
// have gone with a change of owner, and those of a directory come from above.
func (s *Store) permit(dirfd, fd int, mode uint32, st *unix.Statx_t) error {
	have := uint32(st.Mode) & 0o7777
	want := mode & 0o7777
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		want |= have & unix.S_ISGID
	}
	if have == want {
		return nil
	}
	if have&0o777 != want&0o777 {
		if _, err := getxattr(dirfd, "system.posix_acl_default"); err == nil {
			want = want&^0o777 | have&want&0o777
		}
	}
	if have == want {
		return nil
	}
	if err := chmod(fd, want); err != nil {
		return err
	}
	return statx(fd, "", st)
}

// Create implements store.Writer.
func (s *Store) Create(dir store.Node, name []byte, mode uint32, owner store.Owner) (store.Node, store.Attr, store.FileWriter, error) {
	fd, n, st, err := s.make("create", s.node(dir), name, mode, owner, func(dirfd int, lower string) (int, error) {
		return openat(dirfd, lower, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, mode&0o7777)
	})
	if err != nil {
		return nil, store.Attr{}, nil, err
	}
	f := &file{s: s, n: n, fd: fd}
	s.register(f)
	return n, attrOf(&st), &fileWriter{file: f, clean: true}, nil
}

// Symlink implements store.Writer. The policy in context is not looked at: that
// of the link is its directory's. A target of more than 4095 bytes gives
// ENAMETOOLONG.
func (s *Store) Symlink(dir store.Node, name, target []byte, owner store.Owner, context []byte) (store.Node, store.Attr, error) {
	if len(context) != contextSize {
		panic(fmt.Sprintf("dirstore: context of %d bytes", len(context)))
	}
	if len(target) < minName {
		panic(fmt.Sprintf("dirstore: encrypted target of %d bytes", len(target)))
	}
	raw := append(append([]byte(nil), context[contextSize-nonceSize:]...), target...)
	lowerTarget := encoding.EncodeToString(raw)
	return s.makeClosed("symlink", dir, name, 0, owner, func(dirfd int, lower string) error {
		err := unix.Symlinkat(lowerTarget, dirfd, lower)
		if err == unix.ENAMETOOLONG {
			err = s.symlinkLong(dirfd, lower, target, context)
		}
		return err
	})
}

// Mknod implements store.Writer.
func (s *Store) Mknod(dir store.Node, name []byte, mode uint32, rdev uint64, owner store.Owner) (store.Node, store.Attr, error) {
	return s.makeClosed("mknod", dir, name, mode, owner, func(dirfd int, lower string) error {
		return unix.Mknodat(dirfd, lower, mode, int(rdev))
	})
}

// makeClosed is make for objects that are not open after they have been made.
func (s *Store) makeClosed(op string, dir store.Node, name []byte, mode uint32, owner store.Owner,
	f func(dirfd int, lower string) error) (store.Node, store.Attr, error) {
	fd, n, st, err := s.make(op, s.node(dir), name, mode, owner, func(dirfd int, lower string) (int, error) {
		if err := retry(func() error { return f(dirfd, lower) }); err != nil {
			return -1, err
		}
		return openat(dirfd, lower, unix.O_PATH, 0)
	})
	if err != nil {
		return nil, store.Attr{}, err
	}
	unix.Close(fd)
	return n, attrOf(&st), nil
}

// Mkdir implements store.Writer. The directory appears under its name with its
// header in it.
func (s *Store) Mkdir(nd store.Node, name []byte, mode uint32, owner store.Owner, context []byte) (store.Node, store.Attr, error) {
	dir := s.node(nd)
	if err := s.writable("mkdir"); err != nil {
		return nil, store.Attr{}, err
	}
	lower, err := encodeName(name)
	if err != nil {
		return nil, store.Attr{}, err
	}
	h := newHeader(typeDir, context, s.auth)
	n, st, err := s.mkdir(dir, lower, mode, owner, h)
	if err != nil {
		return nil, store.Attr{}, fmt.Errorf("dirstore: mkdir %s: %w", dir.under(lower.string), err)
	}
	return n, attrOf(&st), nil
}

func (s *Store) mkdir(dir *node, lower lowerName, mode uint32, owner store.Owner, h *header) (n *node, st unix.Statx_t, err error) {
	dirfd, err := s.use(dir)
	if err != nil {
		return nil, st, err
	}
	defer s.unuse(dir)
	dir.dir.names.Lock()
	defer dir.dir.names.Unlock()
	switch err := statx(dirfd, lower.string, &st); err {
	case nil:
		return nil, st, unix.EEXIST
	case unix.ENOENT:
	default:
		return nil, st, err
	}
	sidecar, err := s.writeSidecar(dirfd, lower)
	if err != nil {
		return nil, st, err
	}
	fd, err := s.makeDir(dirfd, lower.string, mode, owner, h, &st)
	if err != nil {
		s.retractSidecar(dirfd, lower, sidecar, err)
		return nil, st, err
	}
	s.confirmSidecar(dir, dirfd, lower)
	n = s.enter(dir, lower.string, &st)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.adopt(n, fd)
	s.trim()
	n.dir.context = h.context()
	return n, st, nil
}

// makeDir makes a directory with its header under a temporary name and renames
// it. It returns a descriptor of O_PATH.
func (s *Store) makeDir(dirfd int, lower string, mode uint32, owner store.Owner, h *header, st *unix.Statx_t) (int, error) {
	temp := tempName()
	// With the mode that it will have, for the sake of default ACLs, and the
	// owner's permissions, for the header to be made.
	if err := retry(func() error { return unix.Mkdirat(dirfd, temp, mode&0o7777|unix.S_IRWXU) }); err != nil {
		return -1, err
	}
	fd, err := openat(dirfd, temp, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		unlinkat(dirfd, temp, unix.AT_REMOVEDIR)
		return -1, err
	}
	// The attribute goes with the directory into the lower file system's
	// journal, so that the rename is never there without it. The header's
	// contents do not, and are waited for where there is no attribute.
	copied := false
	if !s.noXattrs.Load() {
		err := setxattr(fd, h)
		copied = err == nil
		if errors.Is(err, unix.EOPNOTSUPP) {
			s.noXattrs.Store(true)
		}
	}
	err = writeNew(fd, headerName, h[:], !copied)
	if err == nil {
		err = s.endow(dirfd, fd, mode, owner, st)
	}
	if err == nil {
		err = renameNew(dirfd, temp, dirfd, lower)
	}
	if err != nil {
		chmod(fd, unix.S_IRWXU) // if it has lost them already
		unlinkat(fd, headerName, 0)
		unlinkat(dirfd, temp, unix.AT_REMOVEDIR)
		unix.Close(fd)
		return -1, err
	}
	// Once more, as the rename has changed the ctime. If this fails, what is
	// known holds but for that.
	statx(fd, "", st)
	return fd, nil
}

// Link implements store.Writer.
func (s *Store) Link(nd, to store.Node, name []byte) (store.Attr, error) {
	n, dir := s.node(nd), s.node(to)
	if err := s.writable("link"); err != nil {
		return store.Attr{}, err
	}
	lower, err := encodeName(name)
	if err != nil {
		return store.Attr{}, err
	}
	st, err := s.link(n, dir, lower)
	if err != nil {
		return store.Attr{}, fmt.Errorf("dirstore: link %s to %s: %w", n, dir.under(lower.string), err)
	}
	return attrOf(&st), nil
}

func (s *Store) link(n, dir *node, lower lowerName) (st unix.Statx_t, err error) {
	if n.dir != nil {
		return st, unix.EPERM
	}
	dirfd, err := s.use(dir)
	if err != nil {
		return st, err
	}
	defer s.unuse(dir)
	dir.dir.names.Lock()
	defer dir.dir.names.Unlock()
	n.links.Lock()
	defer n.links.Unlock()
	fd, err := s.openPathOf(n, &st)
	if err == errGone {
		err = unix.ENOENT
	}
	if err != nil {
		return st, err
	}
	defer unix.Close(fd)
	sidecar, err := s.writeSidecar(dirfd, lower)
	if err != nil {
		return st, err
	}
	s.carryMark(dir, dirfd, &st)
	err = retry(func() error {
		return unix.Linkat(unix.AT_FDCWD, fdPath(fd), dirfd, lower.string, unix.AT_SYMLINK_FOLLOW)
	})
	if err != nil {
		s.retractSidecar(dirfd, lower, sidecar, err)
		return st, err
	}
	s.confirmSidecar(dir, dirfd, lower)
	if err := s.modes.statx(fd, "", &st); err != nil {
		return st, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n.refs++
	s.locate(n, location{dir, lower.string}, st.Nlink)
	return st, nil
}
