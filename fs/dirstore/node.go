package dirstore

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// An inode names a lower object in the table of nodes.
type inode struct{ dev, ino uint64 }

// A location is a place where a node has a name.
type location struct {
	dir  *node
	name string
}

// A node is a lower object, one for each inode. It is in the table from the
// first reference to the last Release, or until its last link is removed here:
// what then gets the same inode number is another node. The birth time, where
// the lower file system has one, tells them apart if others have removed it.
type node struct {
	s    *Store
	mode uint32 // type
	long bool   // a long link
	dir  *directory
	inode

	// links is held while the number of links changes, so that whoever removes
	// the last one knows it. It is locked after directory.names.
	links sync.Mutex

	// Guarded by Store.mu.
	birth     unix.StatxTimestamp // zero if not known
	refs      uint64              // references of the caller
	pins      int                 // locations of others in this directory, open files, operations under way
	locations []location          // none if unlinked; a directory has at most one
	files     []*file             // open files, and last
	last      *file               // of O_PATH, for a regular file whose last link is gone; pins nothing
	removed   *store.Attr         // set once the last link has been removed
}

// A directory is what a node has more if it is one.
type directory struct {
	// names is held for writing while names of the directory change, and for
	// reading while one is looked up.
	names sync.RWMutex

	// Guarded by Store.mu.
	context  []byte // verified; nil until it was read
	children map[string]*node
	fd       int // of O_PATH, or -1
	uses     int // of fd
	prev     *node
	next     *node
}

func newNode(s *Store, st *unix.Statx_t) *node {
	n := &node{s: s, mode: uint32(st.Mode) & unix.S_IFMT, long: isLongLink(st), inode: inodeOf(st), birth: birthOf(st)}
	if n.mode == unix.S_IFDIR {
		n.dir = &directory{fd: -1}
	}
	return n
}

func inodeOf(st *unix.Statx_t) inode {
	return inode{dev: unix.Mkdev(st.Dev_major, st.Dev_minor), ino: st.Ino}
}

func birthOf(st *unix.Statx_t) unix.StatxTimestamp {
	if st.Mask&unix.STATX_BTIME == 0 {
		return unix.StatxTimestamp{}
	}
	return st.Btime
}

// is reports whether st are the attributes of n. Store.mu is held.
func (n *node) is(st *unix.Statx_t) bool {
	if n.inode != inodeOf(st) {
		return false
	}
	if n.mode != uint32(st.Mode)&unix.S_IFMT && !n.looksLong(st) {
		return false
	}
	birth := birthOf(st)
	switch none := (unix.StatxTimestamp{}); {
	case birth == none:
	case n.birth == none:
		n.birth = birth
	default:
		return n.birth == birth
	}
	return true
}

// same is is without Store.mu.
func (s *Store) same(n *node, st *unix.Statx_t) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return n.is(st)
}

// String implements store.Node.
func (n *node) String() string {
	n.s.mu.Lock()
	defer n.s.mu.Unlock()
	return n.path()
}

// path is String with Store.mu held.
func (n *node) path() string {
	if n == n.s.root {
		return "."
	}
	var names []string
	for d := n; d != n.s.root; d = d.locations[0].dir {
		if len(d.locations) == 0 {
			return fmt.Sprintf("inode %d", n.ino)
		}
		names = append(names, d.locations[0].name)
	}
	slices.Reverse(names)
	return strings.Join(names, "/")
}

// under returns the lower path of a name in a directory, for messages.
func (n *node) under(name string) string { return path.Join(n.String(), name) }

// node returns the implementation of a Node of this store.
func (s *Store) node(n store.Node) *node {
	impl, ok := n.(*node)
	if !ok || impl.s != s {
		panic("dirstore: node of another store")
	}
	return impl
}

// enter returns the node for what has been found or made in a directory, with
// one reference more. The names of dir are locked.
func (s *Store) enter(dir *node, name string, st *unix.Statx_t) *node {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.nodes[inodeOf(st)]
	if n != nil && !n.is(st) {
		s.forget(n)
		n = nil
	}
	if n == nil {
		n = newNode(s, st)
		s.nodes[n.inode] = n
	}
	n.refs++
	s.locate(n, location{dir, name}, st.Nlink)
	return n
}

// known returns the node of a lower object if it is in the table, else nil.
func (s *Store) known(st *unix.Statx_t) *node {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.nodes[inodeOf(st)]; n != nil && n.is(st) {
		return n
	}
	return nil
}

// locate records that n, which has so many links, is at loc. Store.mu is held.
func (s *Store) locate(n *node, loc location, nlink uint32) {
	if n == s.root {
		return
	}
	if loc.dir.dir.children[loc.name] == n {
		return
	}
	loc.dir.pins++
	if old := loc.dir.dir.children[loc.name]; old != nil {
		s.dislocate(old, loc)
	}
	if n.dir != nil {
		// Others may have moved directories around, so that what is
		// remembered of them has n above itself. What is above must not be
		// below.
		for d := loc.dir; d != s.root && len(d.locations) > 0; d = d.locations[0].dir {
			if up := d.locations[0]; up.dir == n {
				s.dislocate(d, up)
				break
			}
		}
		nlink = 1
	}
	if loc.dir.dir.children == nil {
		loc.dir.dir.children = make(map[string]*node)
	}
	loc.dir.dir.children[loc.name] = n
	n.locations = append(n.locations, loc)
	// More places than links: others have removed the older ones.
	for len(n.locations) > max(1, int(nlink)) {
		s.dislocate(n, n.locations[0])
	}
}

// dislocate records that n is not at loc any more. Store.mu is held.
func (s *Store) dislocate(n *node, loc location) {
	i := slices.Index(n.locations, loc)
	if i < 0 {
		return
	}
	n.locations = slices.Delete(n.locations, i, i+1)
	delete(loc.dir.dir.children, loc.name)
	s.unpin(loc.dir)
}

// forget takes n, of which nothing is left in the tree, out of the table.
// Store.mu is held.
func (s *Store) forget(n *node) {
	if s.nodes[n.inode] == n {
		delete(s.nodes, n.inode)
	}
	for len(n.locations) > 0 {
		s.dislocate(n, n.locations[len(n.locations)-1])
	}
}

// unlinked records that the last link of n, which had these attributes before,
// has been removed. Store.mu is held.
func (s *Store) unlinked(n *node, st *unix.Statx_t) {
	a := n.attr(st)
	a.Nlink = 0
	n.removed = &a
	s.forget(n)
	if n.dir != nil && n.dir.fd >= 0 && n.dir.uses == 0 {
		s.closeDir(n)
	}
}

// unpin undoes one pins++. Store.mu is held.
func (s *Store) unpin(n *node) {
	n.pins--
	s.free(n)
}

// free drops a node that nothing refers to. Store.mu is held.
func (s *Store) free(n *node) {
	if n.refs > 0 || n.pins > 0 || n == s.root {
		return
	}
	if n.dir != nil {
		if n.dir.uses > 0 {
			return
		}
		if n.dir.fd >= 0 {
			s.closeDir(n)
		}
	}
	s.forget(n)
	if n.last != nil {
		s.closeLast(n)
	}
}

// closeLast closes n.last. Store.mu is held.
func (s *Store) closeLast(n *node) {
	n.last.closed = true
	if n.last.borrowed == 0 {
		unix.Close(n.last.fd)
	}
	n.files = slices.DeleteFunc(n.files, func(f *file) bool { return f == n.last })
	n.last = nil
}

// Release implements store.Store.
func (s *Store) Release(nd store.Node, count uint64) {
	n := s.node(nd)
	if n == s.root {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if count > n.refs {
		panic("dirstore: more references released than taken")
	}
	n.refs -= count
	s.free(n)
}

// errGone means that a node has no name in the tree any more.
var errGone = errors.New("no links left")

// atName calls f with a descriptor of a directory that holds n, and the name
// of n in it. If others have changed the tree, something else may bear the
// name; f then returns ESTALE, or what the system call said, and the next place
// is tried. The result is ESTALE if there is none left and errGone if the last
// name was removed here.
func (s *Store) atName(n *node, f func(dirfd int, name string) error) error {
	for i, restarts := 0, 0; ; {
		s.mu.Lock()
		if n.removed != nil {
			s.mu.Unlock()
			return errGone
		}
		if i >= len(n.locations) {
			s.mu.Unlock()
			return unix.ESTALE
		}
		loc := n.locations[i]
		loc.dir.pins++
		s.mu.Unlock()

		fd, err := s.use(loc.dir)
		if err == nil {
			err = f(fd, loc.name)
			s.unuse(loc.dir)
		}

		s.mu.Lock()
		s.unpin(loc.dir)
		moved := i >= len(n.locations) || n.locations[i] != loc
		s.mu.Unlock()
		switch {
		case !absent(err):
			return err
		case moved && restarts < 100:
			i, restarts = 0, restarts+1
		default:
			i++
		}
	}
}

// absent reports whether an error says that a name does not lead to the node
// that it is thought to.
func absent(err error) bool {
	switch err {
	case unix.ENOENT, unix.ESTALE, unix.ELOOP, unix.ENOTDIR:
		return true
	}
	return false
}

// openPathOf returns a descriptor of O_PATH for n, which the caller closes.
func (s *Store) openPathOf(n *node, st *unix.Statx_t) (int, error) {
	fd := -1
	err := s.atName(n, func(dirfd int, name string) (err error) {
		fd, err = openat(dirfd, name, unix.O_PATH, 0)
		if err != nil {
			return err
		}
		if err = s.identify(n, fd, st); err != nil {
			unix.Close(fd)
		}
		return err
	})
	return fd, err
}

// identify returns the attributes of a descriptor, and ESTALE if it is not of n.
func (s *Store) identify(n *node, fd int, st *unix.Statx_t) error {
	if err := statx(fd, "", st); err != nil {
		return err
	}
	if !s.same(n, st) {
		return unix.ESTALE
	}
	return nil
}
