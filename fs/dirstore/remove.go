package dirstore

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// Unlink implements store.Writer. It looks at nothing inside the object, so
// that damaged ones can be removed.
func (s *Store) Unlink(nd store.Node, name []byte) error {
	lower, err := encodeName(name)
	if err != nil {
		return err
	}
	return s.remove("unlink", s.node(nd), lower, s.unlink)
}

// Rmdir implements store.Writer. A directory that holds something that does
// not show, a file of another program or an entry with a bad name, is not
// empty; the log says so.
func (s *Store) Rmdir(nd store.Node, name []byte) error {
	lower, err := encodeName(name)
	if err != nil {
		return err
	}
	s.wide.Lock()
	defer s.wide.Unlock()
	return s.remove("rmdir", s.node(nd), lower, s.rmdir)
}

func (s *Store) remove(op string, dir *node, lower lowerName, f func(dir *node, dirfd int, lower string) error) error {
	if err := s.writable(op); err != nil {
		return err
	}
	dirfd, err := s.use(dir)
	if err == nil {
		defer s.unuse(dir)
		dir.dir.names.Lock()
		defer dir.dir.names.Unlock()
		err = f(dir, dirfd, lower.string)
	}
	if err != nil {
		return fmt.Errorf("dirstore: %s %s: %w", op, dir.under(lower.string), err)
	}
	s.removeSidecar(dirfd, lower)
	return nil
}

func (s *Store) unlink(dir *node, dirfd int, lower string) error {
	var st unix.Statx_t
	n, err := s.lockLinks(dirfd, lower, &st)
	if err != nil {
		return err
	}
	if n != nil {
		defer n.links.Unlock()
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return unix.EISDIR
	}
	last := s.openLast(n, dirfd, lower, &st)
	if err := unlinkat(dirfd, lower, 0); err != nil {
		last.close()
		return err
	}
	s.linkRemoved(dir, lower, n, &st, last)
	return nil
}

// A lastFD is a descriptor of O_PATH for a regular file that is about to lose its
// last link, or -1. Whoever has found the file before may open it yet.
type lastFD int

// openLast opens what n, nil if it is not in the table, is, if the link that
// goes is its last.
func (s *Store) openLast(n *node, dirfd int, lower string, st *unix.Statx_t) lastFD {
	if n == nil || n.mode != unix.S_IFREG || st.Nlink > 1 {
		return -1
	}
	// Short of descriptors, such a late opening fails with ESTALE.
	fd, err := openat(dirfd, lower, unix.O_PATH, 0)
	if err != nil {
		return -1
	}
	if s.identify(n, fd, new(unix.Statx_t)) != nil {
		unix.Close(fd)
		return -1
	}
	return lastFD(fd)
}

func (fd lastFD) close() {
	if fd >= 0 {
		unix.Close(int(fd))
	}
}

// lockLinks returns the node that a name leads to, nil if it is not in the
// table, with its links locked and the attributes that it has from then on.
func (s *Store) lockLinks(dirfd int, lower string, st *unix.Statx_t) (*node, error) {
	if err := s.modes.statx(dirfd, lower, st); err != nil {
		return nil, err
	}
	n := s.known(st)
	if n == nil {
		return nil, nil
	}
	n.links.Lock()
	if err := s.modes.statx(dirfd, lower, st); err != nil {
		n.links.Unlock()
		return nil, err
	}
	return n, nil
}

// linkRemoved records that the object with the given attributes, n if that is
// not nil, has lost its name in dir. last becomes the node's, or is closed.
func (s *Store) linkRemoved(dir *node, lower string, n *node, st *unix.Statx_t, last lastFD) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := dir.dir.children[lower]; old != nil {
		s.dislocate(old, location{dir, lower})
	}
	if n != nil && (st.Nlink <= 1 || n.dir != nil) {
		s.unlinked(n, st)
	}
	switch {
	case last < 0:
	case n.refs == 0 && n.pins == 0: // released meanwhile
		last.close()
	default:
		n.last = &file{s: s, n: n, fd: int(last)}
		n.files = append(n.files, n.last)
	}
}

func (s *Store) rmdir(dir *node, dirfd int, lower string) error {
	r, err := s.beginRemoval(dir, dirfd, lower)
	if err != nil {
		return err
	}
	defer r.close()
	return r.finish()
}

// A removal is a directory that is being removed: it has been found empty,
// renamed to a temporary name and found empty again, and nobody in this process
// can make anything in it. finish or undo follows, then close.
type removal struct {
	s     *Store
	dir   *node // that holds it
	dirfd int
	lower string
	temp  string
	node  *node // nil if it is not in the table
	fd    int   // for reading
	st    unix.Statx_t

	marked bool // it has the file linksName

	// The owner's permissions have been added, and Store.modes is held.
	permitted bool
}

// beginRemoval begins to remove the directory lower. Store.wide and the names
// of dir are locked.
func (s *Store) beginRemoval(dir *node, dirfd int, lower string) (_ *removal, err error) {
	r := &removal{s: s, dir: dir, dirfd: dirfd, lower: lower, temp: tempName(), fd: -1}
	if err := s.modes.statx(dirfd, lower, &r.st); err != nil {
		return nil, err
	}
	if r.st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil, unix.ENOTDIR
	}
	if r.node = s.known(&r.st); r.node != nil {
		r.node.dir.names.Lock()
	}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if err := r.open(); err != nil {
		return nil, err
	}
	if err := r.checkEmpty(); err != nil {
		return nil, err
	}
	if err := renameNew(dirfd, lower, dirfd, r.temp); err != nil {
		return nil, err
	}
	if err := r.checkEmpty(); err != nil {
		r.undo()
		return nil, err
	}
	return r, nil
}

// close ends a removal; a directory that has not been deleted gets its
// permissions back.
func (r *removal) close() {
	if r.fd >= 0 {
		if r.permitted {
			chmod(r.fd, uint32(r.st.Mode))
		}
		unix.Close(r.fd)
	}
	if r.permitted {
		r.s.modes.end()
	}
	if r.node != nil {
		r.node.dir.names.Unlock()
	}
}

// open opens the directory. To look into it and to delete its header the
// process may need permissions that, for rmdir, the user need not have.
func (r *removal) open() error {
	path, err := openat(r.dirfd, r.lower, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(path)
	var st unix.Statx_t
	if err := statx(path, "", &st); err != nil {
		return err
	}
	if inodeOf(&st) != inodeOf(&r.st) {
		return unix.ESTALE
	}
	if r.st.Mode&unix.S_IRWXU != unix.S_IRWXU && os.Geteuid() != 0 {
		r.s.modes.begin()
		r.permitted = true
		if err := chmod(path, uint32(r.st.Mode)|unix.S_IRWXU); err != nil {
			return unix.EACCES
		}
	}
	r.fd, err = openat(path, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil && r.permitted {
		chmod(path, uint32(r.st.Mode))
	}
	return err
}

// checkEmpty returns ENOTEMPTY if there is more in the directory than its
// header and what crashes leave, which it removes.
func (r *removal) checkEmpty() error {
	var leavings []string
	sidecars := make(map[string]bool) // false for those without an object
	full, unseen := "", false
	if _, err := unix.Seek(r.fd, 0, 0); err != nil {
		return err
	}
	err := eachEntry(r.fd, func(name string, _ uint64, _ uint32) bool {
		switch kindOf(name, false) {
		case nameHeader:
		case nameLinks:
			r.marked = true
		case nameTemp, nameSidecar:
			leavings = append(leavings, name)
		case nameForeign:
			full, unseen = name, true
		case nameObject:
			full = name
			_, err := decodeName(name)
			unseen = err != nil
		case nameLong:
			full, unseen = name, false
			sidecars[name+sidecarSuffix] = true
		}
		return full == ""
	})
	if err != nil {
		return err
	}
	path := func(name string) string { return r.dir.under(r.lower + "/" + name) }
	if full == "" {
		for _, name := range leavings {
			if sidecars[name] || r.removeLeaving(name) {
				continue
			}
			full, unseen = name, true
			break
		}
	}
	if unseen {
		r.s.said.warn("keeps its directory from being removed", path(full))
	}
	if full != "" {
		return unix.ENOTEMPTY
	}
	return nil
}

// freshTime is how old a temporary must be in a tree that others change too,
// to be taken for what a crash has left.
const freshTime = time.Hour

// removeLeaving removes a sidecar without an object, or a temporary that holds
// nothing of value: a file, or a directory with nothing but its header.
func (r *removal) removeLeaving(name string) bool {
	var st unix.Statx_t
	err := statx(r.fd, name, &st)
	if err == unix.ENOENT {
		return true
	}
	if err != nil || r.s.opt.Shared && time.Since(timeOf(st.Ctime)) < freshTime {
		return false
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG, unix.S_IFLNK:
		return unlinkat(r.fd, name, 0) == nil
	case unix.S_IFDIR:
		return r.removeTempDir(name)
	}
	return false
}

func (r *removal) removeTempDir(name string) bool {
	path, err := openat(r.fd, name, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return false
	}
	defer unix.Close(path)
	// Nobody sees a temporary, nor its permissions.
	if err := chmod(path, unix.S_IRWXU); err != nil {
		return false
	}
	fd, err := openat(path, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	empty, headed := true, false
	err = eachEntry(fd, func(name string, _ uint64, _ uint32) bool {
		if name == headerName {
			headed = true
		} else {
			empty = false
		}
		return empty
	})
	if err != nil || !empty {
		return false
	}
	if headed && unlinkat(fd, headerName, 0) != nil {
		return false
	}
	return unlinkat(r.fd, name, unix.AT_REMOVEDIR) == nil
}

// undo puts the directory back.
func (r *removal) undo() {
	if err := renameNew(r.dirfd, r.temp, r.dirfd, r.lower); err != nil {
		r.s.said.warn("a directory that could not be removed could not be put back under its name",
			r.dir.under(r.lower), "temporary", r.temp, "error", err)
	}
}

// finish removes the directory, or puts it back if that fails.
func (r *removal) finish() error {
	err := r.delete()
	if err != nil {
		r.undo()
		return err
	}
	r.removed()
	return nil
}

// removed records that the directory is gone.
func (r *removal) removed() { r.s.linkRemoved(r.dir, r.lower, r.node, &r.st, -1) }

// delete deletes the directory or leaves it as it was.
func (r *removal) delete() error {
	var h header
	size, err := readSmall(r.fd, headerName, h[:])
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	if r.marked {
		unlinkat(r.fd, linksName, 0) // if this fails, so does what follows
	}
	if err := unlinkat(r.fd, headerName, 0); err != nil && err != unix.ENOENT {
		return err
	}
	if err := unlinkat(r.dirfd, r.temp, unix.AT_REMOVEDIR); err != nil {
		// Another process was faster than the rename.
		writeNew(r.fd, headerName, h[:size], true)
		return err
	}
	return nil
}
