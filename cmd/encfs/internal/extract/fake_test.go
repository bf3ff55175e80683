package extract

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"encfs/fs"
	"encfs/fs/store"
)

// A fakeFS is a file system without encryption that says what a test wants it to.
type fakeFS struct {
	root  *fakeNode
	mu    sync.Mutex
	asked map[fakeAsked]int // guarded by mu
}

var _ store.FileSystem = (*fakeFS)(nil)

// A fakeAsked is a name that was looked up.
type fakeAsked struct {
	dir  *fakeNode
	name string
}

// A fakeNode is an object of a fakeFS.
type fakeNode struct {
	ino     uint64
	mode    uint32
	nlink   uint32
	owner   *fakeOwner // nil: who runs the test
	target  string
	xattrs  map[string]string
	entries []fakeEntry

	data      []byte
	size      int64          // if longer than data, which a hole follows
	bad       map[int64]bool // data units that cannot be read
	badMap    map[int64]bool // data units of which nobody knows where they are
	xattrFail error
	dirFail   error
}

type fakeOwner struct{ uid, gid uint32 }

type fakeEntry struct {
	name string
	node *fakeNode
}

const fakeUnit = 4096

func (n *fakeNode) String() string { return fmt.Sprintf("inode %d", n.ino) }

// fakeDir returns a directory with entries.
func fakeDir(ino uint64, entries ...fakeEntry) *fakeNode {
	return &fakeNode{ino: ino, mode: store.ModeDir | 0o755, nlink: 2, entries: entries}
}

func fakeFile(ino uint64, data []byte) *fakeNode {
	return &fakeNode{ino: ino, mode: store.ModeRegular | 0o644, nlink: 1, data: data}
}

func fakeLink(ino uint64, target string) *fakeNode {
	return &fakeNode{ino: ino, mode: store.ModeSymlink | 0o777, nlink: 1, target: target}
}

func openFake(t testing.TB, root *fakeNode) *fs.Volume {
	return openVolume(t, &fakeFS{root: root, asked: map[fakeAsked]int{}}, fs.Options{})
}

func (f *fakeFS) UUID() [16]byte                                { return [16]byte{} }
func (f *fakeFS) BlockSize() int                                { return fakeUnit }
func (f *fakeFS) Ino(n store.Node) uint64                       { return n.(*fakeNode).ino }
func (f *fakeFS) Root() store.Node                              { return f.root }
func (f *fakeFS) Release(store.Node, uint64)                    {}
func (f *fakeFS) Context(store.Node) ([]byte, error)            { return nil, nil }
func (f *fakeFS) Statfs() (store.Statfs, error)                 { return store.Statfs{}, nil }
func (f *fakeFS) Close() error                                  { return nil }
func (f *fakeFS) Readlink(n store.Node) ([]byte, error)         { return []byte(n.(*fakeNode).target), nil }
func (f *fakeFS) Attr(n store.Node) (store.Attr, error)         { return n.(*fakeNode).attr(), nil }
func (f *fakeFS) Open(n store.Node, _ bool) (store.File, error) { return f.OpenUnits(n, fakeUnit) }

func (f *fakeFS) Case(store.Node) (store.Case, error) { return store.CaseSensitive, nil }

func (f *fakeFS) LookupHash(store.Node, uint32, func([]byte) bool) (store.Node, store.Attr, error) {
	return nil, store.Attr{}, syscall.ENOENT
}

// Lookup finds each of several entries with a name in turn.
func (f *fakeFS) Lookup(dir store.Node, name []byte) (store.Node, store.Attr, error) {
	var found []*fakeNode
	for _, e := range dir.(*fakeNode).entries {
		if e.name == string(name) {
			found = append(found, e.node)
		}
	}
	if len(found) == 0 {
		return nil, store.Attr{}, syscall.ENOENT
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	key := fakeAsked{dir.(*fakeNode), string(name)}
	n := found[f.asked[key]%len(found)]
	f.asked[key]++
	return n, n.attr(), nil
}

func (f *fakeFS) ReadDir(dir store.Node) ([]store.Dirent, error) {
	var list []store.Dirent
	for _, e := range dir.(*fakeNode).entries {
		list = append(list, store.Dirent{Name: []byte(e.name), Lower: e.name, Ino: e.node.ino, Type: e.node.mode & store.ModeType})
	}
	return list, dir.(*fakeNode).dirFail
}

func (f *fakeFS) ListXattr(n store.Node) ([]string, error) {
	var names []string
	for name := range n.(*fakeNode).xattrs {
		names = append(names, name)
	}
	return names, n.(*fakeNode).xattrFail
}

func (f *fakeFS) GetXattr(n store.Node, name string) ([]byte, error) {
	value, ok := n.(*fakeNode).xattrs[name]
	if !ok {
		return nil, syscall.ENODATA
	}
	return []byte(value), nil
}

func (n *fakeNode) attr() store.Attr {
	size := max(n.size, int64(len(n.data)))
	if n.target != "" {
		size = int64(len(n.target))
	}
	owner := fakeOwner{uint32(unix.Geteuid()), uint32(unix.Getegid())}
	if n.owner != nil {
		owner = *n.owner
	}
	at := time.Unix(1e9, 0)
	return store.Attr{
		Dev: 1, Ino: n.ino, Mode: n.mode, Nlink: n.nlink, Size: size, Blocks: int64(len(n.data)+511) / 512,
		UID: owner.uid, GID: owner.gid, Atime: at, Mtime: at,
	}
}

func (f *fakeFS) OpenUnits(n store.Node, unitSize int) (store.File, error) {
	return &fakeOpen{n.(*fakeNode)}, nil
}

type fakeOpen struct{ n *fakeNode }

func (o *fakeOpen) Close() error              { return nil }
func (o *fakeOpen) Context() []byte           { return nil }
func (o *fakeOpen) Size() int64               { return o.n.attr().Size }
func (o *fakeOpen) Layout() store.Layout      { return store.LayoutBlocks }
func (o *fakeOpen) Attr() (store.Attr, error) { return o.n.attr(), nil }
func (o *fakeOpen) Reload() error             { return nil }

func (o *fakeOpen) ReadUnits(dst []byte, first uint64, holes []bool) (int, error) {
	off := int64(first) * fakeUnit
	end := min(off+int64(len(dst)), (o.Size()+fakeUnit-1)/fakeUnit*fakeUnit)
	for at := off; at < end; at += fakeUnit {
		if o.n.bad[at/fakeUnit] || o.n.badMap[at/fakeUnit] {
			return 0, &store.DamagedError{Path: o.n.String(), Detail: fmt.Sprintf("unit %d", at/fakeUnit)}
		}
		part := dst[at-off:][:fakeUnit]
		clear(part)
		if at < int64(len(o.n.data)) {
			copy(part, o.n.data[at:])
		}
		holes[(at-off)/fakeUnit] = at >= int64(len(o.n.data))
	}
	return int(end - off), nil
}

func (o *fakeOpen) Seek(off int64, whence int) (int64, error) {
	data := int64(len(o.n.data))
	switch {
	case off >= o.Size(), whence == unix.SEEK_DATA && off >= data:
		return 0, syscall.ENXIO
	case o.n.badMap[off/fakeUnit]:
		return 0, &store.DamagedError{Path: o.n.String(), Detail: "map"}
	case whence == unix.SEEK_DATA:
		return off, nil
	}
	for at := off; at < data; at += fakeUnit {
		if o.n.badMap[at/fakeUnit] {
			return 0, &store.DamagedError{Path: o.n.String(), Detail: "map"}
		}
	}
	return max(off, data), nil
}
