package dirstore

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// Attr implements store.Store. A regular file whose lower size is damaged has
// size 0. A node that others have removed gives ESTALE.
func (s *Store) Attr(nd store.Node) (store.Attr, error) {
	n := s.node(nd)
	var st unix.Statx_t
	err := s.stat(n, &st)
	if err == errGone {
		s.mu.Lock()
		defer s.mu.Unlock()
		return *n.removed, nil
	}
	if err != nil {
		return store.Attr{}, fmt.Errorf("dirstore: attributes of %s: %w", n, err)
	}
	return n.attr(&st), nil
}

// stat gets the attributes of n, by a descriptor if there is one.
func (s *Store) stat(n *node, st *unix.Statx_t) error {
	if f := s.borrow(n); f != nil {
		defer s.giveBack(f)
		return s.modes.statx(f.fd, "", st)
	}
	if n.dir != nil {
		fd, err := s.use(n)
		if err == unix.ENOENT {
			return errGone
		}
		if err != nil {
			return err
		}
		defer s.unuse(n)
		return s.modes.statx(fd, "", st)
	}
	return s.atName(n, func(dirfd int, name string) error {
		if err := s.modes.statx(dirfd, name, st); err != nil {
			return err
		}
		if !s.same(n, st) {
			return unix.ESTALE
		}
		return nil
	})
}

// withFD calls f with a descriptor of n of some kind, perhaps of O_PATH.
func (s *Store) withFD(n *node, f func(fd int) error) error {
	if file := s.borrow(n); file != nil {
		defer s.giveBack(file)
		return f(file.fd)
	}
	if n.dir != nil {
		fd, err := s.use(n)
		if err != nil {
			return err
		}
		defer s.unuse(n)
		return f(fd)
	}
	var st unix.Statx_t
	fd, err := s.openPathOf(n, &st)
	if err == errGone {
		return unix.ENOENT
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return f(fd)
}

// SetAttr implements store.Writer. The owner is changed first, since that may
// clear set-ID bits.
func (s *Store) SetAttr(nd store.Node, set store.SetAttr) error {
	n := s.node(nd)
	if err := s.writable("set attributes"); err != nil {
		return err
	}
	err := s.withFD(n, func(fd int) error { return s.setAttr(fd, set) })
	if err != nil {
		return fmt.Errorf("dirstore: set attributes of %s: %w", n, err)
	}
	return nil
}

func (s *Store) setAttr(fd int, set store.SetAttr) error {
	if set.UID != nil || set.GID != nil {
		if err := chown(fd, idOf(set.UID), idOf(set.GID)); err != nil {
			return err
		}
	}
	if set.Mode != nil {
		// Not while the permissions are some others for a moment, which would
		// be restored afterwards.
		s.modes.mu.Lock()
		err := chmod(fd, *set.Mode)
		s.modes.mu.Unlock()
		if err != nil {
			return err
		}
	}
	if set.Atime != nil || set.Mtime != nil || set.AtimeNow || set.MtimeNow {
		times := []unix.Timespec{timespecOf(set.Atime, set.AtimeNow), timespecOf(set.Mtime, set.MtimeNow)}
		err := retry(func() error { return unix.UtimesNanoAt(fd, "", times, unix.AT_EMPTY_PATH) })
		if err == unix.EINVAL || err == unix.ENOENT {
			// Before Linux 5.8 utimensat knows no AT_EMPTY_PATH.
			err = retry(func() error { return unix.UtimesNanoAt(unix.AT_FDCWD, fdPath(fd), times, 0) })
		}
		return err
	}
	return nil
}

func chown(fd, uid, gid int) error {
	return retry(func() error { return unix.Fchownat(fd, "", uid, gid, unix.AT_EMPTY_PATH) })
}

func idOf(id *uint32) int {
	if id == nil {
		return -1
	}
	return int(*id)
}

func timespecOf(t *time.Time, now bool) unix.Timespec {
	switch {
	case now:
		return unix.Timespec{Nsec: unix.UTIME_NOW}
	case t == nil:
		return unix.Timespec{Nsec: unix.UTIME_OMIT}
	}
	ts, _ := unix.TimeToTimespec(*t) // fails for 32-bit times only
	return ts
}
