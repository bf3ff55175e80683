package dirstore

import (
	"golang.org/x/sys/unix"
)

// Descriptors of directories. A node's descriptor is opened when it is needed,
// relative to that of its parent, and kept: one that is idle may be closed to
// make room, least recently used first, and one in use never is.

// defaultMaxDirs leaves most descriptors to open files.
func defaultMaxDirs() int {
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		return 64
	}
	return int(max(8, min(lim.Cur/4, 4096)))
}

// use returns a descriptor of O_PATH for a directory, which stays open until
// unuse. It fails with ENOTDIR for another node, ENOENT for a directory that
// has been removed, and ESTALE if it is not where it was.
func (s *Store) use(n *node) (int, error) {
	if n.dir == nil {
		return -1, unix.ENOTDIR
	}
	s.mu.Lock()
	if n.dir.fd >= 0 {
		defer s.mu.Unlock()
		return s.take(n), nil
	}
	s.mu.Unlock()

	err := s.atName(n, func(dirfd int, name string) error {
		fd, err := openat(dirfd, name, unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		var st unix.Statx_t
		if err := s.identify(n, fd, &st); err != nil {
			unix.Close(fd)
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.adopt(n, fd)
		s.take(n)
		return nil
	})
	switch {
	case err == errGone:
		return -1, unix.ENOENT
	case err != nil:
		return -1, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return n.dir.fd, nil
}

// unuse gives back a descriptor.
func (s *Store) unuse(n *node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n.dir.uses--
	if n.dir.uses > 0 || n == s.root {
		return
	}
	if n.removed != nil {
		s.closeDir(n)
	} else {
		s.idle.push(n)
		s.trim()
	}
	s.free(n)
}

// take counts a use of the descriptor of n. Store.mu is held.
func (s *Store) take(n *node) int {
	if n.dir.uses == 0 && n != s.root {
		s.idle.remove(n)
	}
	n.dir.uses++
	return n.dir.fd
}

// adopt makes fd the descriptor of n, or closes it if n has one. Store.mu is
// held.
func (s *Store) adopt(n *node, fd int) {
	if n.dir.fd >= 0 {
		unix.Close(fd)
		return
	}
	n.dir.fd = fd
	s.openDirs++
	s.idle.push(n)
}

// trim closes idle descriptors until there are no more than maxDirs. Store.mu
// is held; closing a descriptor of O_PATH does not block.
func (s *Store) trim() {
	for s.openDirs > s.maxDirs {
		n := s.idle.oldest()
		if n == nil {
			return
		}
		s.closeDir(n)
	}
}

// closeDir closes the descriptor of n, which is not in use. Store.mu is held.
func (s *Store) closeDir(n *node) {
	s.idle.remove(n)
	unix.Close(n.dir.fd)
	n.dir.fd = -1
	s.openDirs--
}

// openDir opens a directory for reading its entries, or for fsync. The caller
// closes the descriptor.
func (s *Store) openDir(n *node) (int, error) {
	dirfd, err := s.use(n)
	if err != nil {
		return -1, err
	}
	defer s.unuse(n)
	return openat(dirfd, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
}

// A dirList is a list of directories, linked through them.
type dirList struct {
	head, tail *node // most and least recently used
}

func (l *dirList) push(n *node) {
	n.dir.next = l.head
	if l.head != nil {
		l.head.dir.prev = n
	} else {
		l.tail = n
	}
	l.head = n
}

// remove takes n out if it is in.
func (l *dirList) remove(n *node) {
	if n.dir.prev == nil && n.dir.next == nil && l.head != n {
		return
	}
	if n.dir.prev != nil {
		n.dir.prev.dir.next = n.dir.next
	} else {
		l.head = n.dir.next
	}
	if n.dir.next != nil {
		n.dir.next.dir.prev = n.dir.prev
	} else {
		l.tail = n.dir.prev
	}
	n.dir.prev, n.dir.next = nil, nil
}

func (l *dirList) oldest() *node { return l.tail }
