package dirstore

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// ErrNotCipherDir means that a directory has no header and so is not the root
// of a cipher directory.
var ErrNotCipherDir = errors.New("not an encrypted directory")

// Options say how to open a cipher directory. The zero value is the default.
type Options struct {
	// ReadOnly leaves the tree as it is: every method that would change
	// something fails with EROFS.
	ReadOnly bool
	// Shared says that others change the tree at the same time: attributes
	// are never answered from memory, and young temporaries are not taken for
	// the leavings of a crash.
	Shared bool
	// Log receives what is found wrong in the tree; nil discards it. Of each
	// kind of message there is one for each lower path.
	Log *slog.Logger
	// MaxDirs is how many descriptors of directories are kept open; 0 derives
	// it from RLIMIT_NOFILE.
	MaxDirs int
}

// A Store is an open cipher directory.
type Store struct {
	opt     Options
	said    *once
	header  header
	auth    Authenticator
	root    *node
	maxDirs int
	locks   []int // descriptors that hold the locks of Lock

	noXattrs    atomic.Bool // the lower file system has no user attributes
	remote      bool        // it may be on another machine
	zeroesFirst bool        // it zeroes the end of a block of a file that it cuts before the size is cut
	modes       modeLock

	// wide is held by the operations that lock the names of more than one
	// directory, so that they need no order among those; the names of one
	// directory alone are locked without.
	wide sync.Mutex

	mu       sync.Mutex // guards what follows, and the fields of nodes that say so
	nodes    map[inode]*node
	idle     dirList // directories with a descriptor that nobody uses
	openDirs int     // directories with a descriptor, except the root
}

var (
	_ store.Writer      = (*Store)(nil)
	_ store.XattrWriter = (*Store)(nil)
	_ store.LowerNames  = (*Store)(nil)
	_ store.Remote      = (*Store)(nil)
	_ store.Flusher     = (*fileWriter)(nil)
)

// Open opens the cipher directory whose root is path. Before anything but
// RootContext, LowerReadOnly and Close, Unlock must have succeeded. Where path
// cannot be opened the error wraps the errno, ENOTDIR if it is no directory;
// without a header it wraps ErrNotCipherDir or a *LostHeaderError, and a header whose form is wrong
// gives a store.DamagedError or an UnsupportedError.
func Open(path string, o Options) (*Store, error) {
	fd, err := openPath(path)
	if err != nil {
		return nil, err
	}
	s := &Store{opt: o, said: newOnce(o.Log), maxDirs: o.MaxDirs, nodes: make(map[inode]*node)}
	if s.maxDirs <= 0 {
		s.maxDirs = defaultMaxDirs()
	}
	if err := s.open(fd); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("dirstore: open %s: %w", path, err)
	}
	return s, nil
}

func openPath(path string) (int, error) {
	for {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err == nil {
			return fd, nil
		}
		if err != unix.EINTR {
			return -1, fmt.Errorf("dirstore: open %s: %w", path, err)
		}
	}
}

func (s *Store) open(fd int) error {
	var st unix.Statx_t
	if err := statx(fd, "", &st); err != nil {
		return err
	}
	n, err := readSmall(fd, headerName, s.header[:])
	switch {
	case errors.Is(err, unix.ENOENT):
		return withoutHeader(fd)
	case errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ELOOP):
		return &store.DamagedError{Path: headerName, Detail: "not a regular file"}
	case err != nil:
		return fmt.Errorf("%s: %w", headerName, err)
	case n < headerSize:
		return &store.DamagedError{Path: headerName, Detail: fmt.Sprintf("%d bytes long, not %d", n, headerSize)}
	}
	if bad := s.header.check(typeDir); bad != nil {
		return bad.at(headerName)
	}
	var lower unix.Statfs_t
	if err := retry(func() error { return unix.Fstatfs(fd, &lower) }); err != nil {
		return err
	}
	s.zeroesFirst = lower.Type == unix.XFS_SUPER_MAGIC
	s.remote = isRemote(&lower)
	s.root = newNode(s, &st)
	s.root.dir.fd = fd
	s.nodes[s.root.inode] = s.root
	return nil
}

// RootContext returns the context of the root as its header has it. Until
// Unlock has succeeded nothing vouches for it. The caller may keep it.
func (s *Store) RootContext() []byte { return append([]byte(nil), s.header.context()...) }

// Unlock verifies the tag of the root's header, with a store.DamagedError if it
// is wrong, and keeps auth for all others. It is not called concurrently with
// anything.
func (s *Store) Unlock(auth Authenticator) error {
	if !s.header.verify(auth) {
		return &store.DamagedError{Path: headerName, Detail: wrongTag}
	}
	s.auth = auth
	s.root.dir.context = s.RootContext()
	return nil
}

// LowerReadOnly reports whether the lower file system is mounted read-only.
func (s *Store) LowerReadOnly() bool {
	var st unix.Statfs_t
	return s.statfs(&st) == nil && st.Flags&unix.ST_RDONLY != 0
}

// Root implements store.Store.
func (s *Store) Root() store.Node { return s.root }

// Statfs implements store.Store.
func (s *Store) Statfs() (store.Statfs, error) {
	var st unix.Statfs_t
	if err := s.statfs(&st); err != nil {
		return store.Statfs{}, fmt.Errorf("dirstore: statfs: %w", err)
	}
	fs := store.Statfs{
		Bsize: uint32(st.Bsize), Frsize: uint32(st.Frsize),
		Blocks: st.Blocks, Bfree: st.Bfree, Bavail: st.Bavail,
		Files: st.Files, Ffree: st.Ffree,
	}
	if fs.Frsize == 0 {
		fs.Frsize = fs.Bsize
	}
	return fs, nil
}

func (s *Store) statfs(st *unix.Statfs_t) error {
	return retry(func() error { return unix.Fstatfs(s.root.dir.fd, st) })
}

// Close implements store.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := s.idle.oldest(); n != nil; n = s.idle.oldest() {
		s.closeDir(n)
	}
	for _, fd := range s.locks {
		unix.Close(fd)
	}
	return unix.Close(s.root.dir.fd)
}

// writable returns EROFS for a store that is open read-only.
func (s *Store) writable(op string) error {
	if s.opt.ReadOnly {
		return fmt.Errorf("dirstore: %s: %w", op, unix.EROFS)
	}
	return nil
}

// badForm gives the error for a header whose form is wrong, and logs that it
// is not supported, which only who knows this package could tell from it. Damage
// is for the caller to log.
func (s *Store) badForm(e *formError, path string) error {
	if e.feature != "" {
		s.said.warn("needs a newer version of encfs", path, "feature", e.feature)
	}
	return e.at(path)
}

// at gives the error for a header whose form is wrong.
func (e *formError) at(path string) error {
	if e.feature != "" {
		return &UnsupportedError{Path: path, Feature: e.feature}
	}
	return &store.DamagedError{Path: path, Detail: e.damage}
}
