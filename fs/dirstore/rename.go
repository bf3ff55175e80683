package dirstore

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// errNarrow means that a rename needs Store.wide.
var errNarrow = errors.New("more than one directory is to be locked")

// Rename implements store.Writer. A directory that is replaced is removed as
// Rmdir does it, between which and the rename itself there is a moment when the
// new name does not exist; everything else is one step.
func (s *Store) Rename(oldDir store.Node, oldName []byte, newDir store.Node, newName []byte, flags uint) error {
	from, err := s.renameEnd(oldDir, oldName)
	if err != nil {
		return err
	}
	return s.renameFrom(from, newDir, newName, flags)
}

func (s *Store) renameFrom(from *renameEnd, newDir store.Node, newName []byte, flags uint) error {
	if err := s.writable("rename"); err != nil {
		return err
	}
	if flags != 0 && flags != unix.RENAME_NOREPLACE && flags != unix.RENAME_EXCHANGE {
		return fmt.Errorf("dirstore: rename with flags %#x: %w", flags, unix.EINVAL)
	}
	to, err := s.renameEnd(newDir, newName)
	if err != nil {
		return err
	}
	err = errNarrow
	if from.dir == to.dir {
		err = s.rename(from, to, flags, false)
	}
	if err == errNarrow {
		s.wide.Lock()
		err = s.rename(from, to, flags, true)
		s.wide.Unlock()
	}
	if err != nil {
		return fmt.Errorf("dirstore: rename %s to %s: %w", from.dir.under(from.lower.string), to.dir.under(to.lower.string), err)
	}
	return nil
}

// A renameEnd is the old or the new name of a rename.
type renameEnd struct {
	dir   *node
	lower lowerName
	fd    int // of dir
	st    unix.Statx_t
}

func (s *Store) renameEnd(dir store.Node, name []byte) (*renameEnd, error) {
	lower, err := encodeName(name)
	return &renameEnd{dir: s.node(dir), lower: lower}, err
}

func (e *renameEnd) location() location { return location{e.dir, e.lower.string} }

func (e *renameEnd) isDir() bool { return e.st.Mode&unix.S_IFMT == unix.S_IFDIR }

// rename renames with the names of both directories locked. wide says that
// Store.wide is held.
func (s *Store) rename(from, to *renameEnd, flags uint, wide bool) (err error) {
	if from.fd, err = s.use(from.dir); err != nil {
		return err
	}
	defer s.unuse(from.dir)
	if to.fd, err = s.use(to.dir); err != nil {
		return err
	}
	defer s.unuse(to.dir)
	from.dir.dir.names.Lock()
	defer from.dir.dir.names.Unlock()
	if to.dir != from.dir {
		to.dir.dir.names.Lock()
		defer to.dir.dir.names.Unlock()
	}

	if err := s.modes.statx(from.fd, from.lower.string, &from.st); err != nil {
		return err
	}
	replaced, err := s.lockLinks(to.fd, to.lower.string, &to.st)
	if replaced != nil {
		defer replaced.links.Unlock()
	}
	exists := err == nil
	switch {
	case err != nil && err != unix.ENOENT:
		return err
	case !exists && flags == unix.RENAME_EXCHANGE:
		return err
	case exists && flags == unix.RENAME_NOREPLACE:
		return unix.EEXIST
	case exists && inodeOf(&from.st) == inodeOf(&to.st):
		return nil // two links of one object: rename(2) leaves both
	}
	switch {
	case flags == unix.RENAME_EXCHANGE:
		return s.exchange(from, to)
	case exists && from.isDir() && to.isDir():
		if !wide {
			return errNarrow
		}
		if to.dir == from.dir || s.known(&to.st) != from.dir {
			return s.replaceDir(from, to)
		}
		return unix.ENOTEMPTY // it holds what is to replace it
	}

	sidecar, err := s.writeSidecar(to.fd, to.lower)
	if err != nil {
		return err
	}
	if to.dir != from.dir {
		s.carryMark(to.dir, to.fd, &from.st)
	}
	last := lastFD(-1)
	if exists {
		last = s.openLast(replaced, to.fd, to.lower.string, &to.st)
	}
	if flags == unix.RENAME_NOREPLACE {
		err = renameNew(from.fd, from.lower.string, to.fd, to.lower.string)
	} else {
		err = retry(func() error { return unix.Renameat(from.fd, from.lower.string, to.fd, to.lower.string) })
	}
	if err != nil {
		last.close()
		if !exists {
			s.retractSidecar(to.fd, to.lower, sidecar, err)
		}
		return err
	}
	s.confirmSidecar(to.dir, to.fd, to.lower)
	if exists {
		s.linkRemoved(to.dir, to.lower.string, replaced, &to.st, last)
	}
	s.moved(from, to)
	s.removeSidecar(from.fd, from.lower)
	return nil
}

// moved records a rename.
func (s *Store) moved(from, to *renameEnd) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := from.dir.dir.children[from.lower.string]
	if n == nil {
		return
	}
	n.pins++
	s.dislocate(n, from.location())
	s.locate(n, to.location(), from.st.Nlink)
	s.unpin(n)
}

// replaceDir renames a directory over another that is empty. Store.wide is
// held.
func (s *Store) replaceDir(from, to *renameEnd) error {
	r, err := s.beginRemoval(to.dir, to.fd, to.lower.string)
	if err != nil {
		return err
	}
	defer r.close()
	sidecar, err := s.writeSidecar(to.fd, to.lower)
	if err == nil {
		err = renameNew(from.fd, from.lower.string, to.fd, to.lower.string)
	}
	if err != nil {
		r.undo()
		s.retractSidecar(to.fd, to.lower, sidecar, unix.EEXIST)
		return err
	}
	s.confirmSidecar(to.dir, to.fd, to.lower)
	if err := r.delete(); err != nil {
		s.said.warn("a directory that was replaced could not be removed", to.dir.under(r.temp), "error", err)
	}
	r.removed()
	s.moved(from, to)
	s.removeSidecar(from.fd, from.lower)
	return nil
}

// exchange swaps two objects. Sidecars belong to the names, which stay.
func (s *Store) exchange(from, to *renameEnd) error {
	s.carryMark(to.dir, to.fd, &from.st)
	s.carryMark(from.dir, from.fd, &to.st)
	err := retry(func() error {
		return unix.Renameat2(from.fd, from.lower.string, to.fd, to.lower.string, unix.RENAME_EXCHANGE)
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := from.dir.dir.children[from.lower.string]
	b := to.dir.dir.children[to.lower.string]
	for _, n := range []*node{a, b} {
		if n != nil {
			n.pins++
			defer s.unpin(n)
		}
	}
	if a != nil {
		s.dislocate(a, from.location())
	}
	if b != nil {
		s.dislocate(b, to.location())
	}
	if a != nil {
		s.locate(a, to.location(), from.st.Nlink)
	}
	if b != nil {
		s.locate(b, from.location(), to.st.Nlink)
	}
	return nil
}

// SyncDir implements store.Writer.
func (s *Store) SyncDir(nd store.Node) error {
	n := s.node(nd)
	fd, err := s.openDir(n)
	if err == nil {
		err = retry(func() error { return unix.Fsync(fd) })
		unix.Close(fd)
	}
	if err != nil {
		return fmt.Errorf("dirstore: sync directory %s: %w", n, err)
	}
	return nil
}
