package fs

import (
	"math"
	"os"
	"sync"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"encfs/fs/store"
)

// How long the kernel may remember names and attributes. Nobody else changes
// the store of an ordinary mount, so there is no reason to ask again; a shared
// one is asked each time.
const (
	cacheLong   = 24 * time.Hour
	cacheShared = 0
)

// generation is the same for all nodes, as node numbers are never used again.
const generation = 1

// An FS is a volume as the kernel's FUSE client sees it. It numbers the inodes
// that the kernel knows, and translates requests; a reply that names an inode
// hands the kernel one reference to it, which FORGET returns.
type FS struct {
	fuse.RawFileSystem // answers what is not implemented below

	v         *Volume
	cache     time.Duration
	rootDev   uint64
	uid       int // of the process; root acts for others
	gid       int
	control   string // see MountOptions
	partition int    // likewise

	remote bool         // the store may be on another machine
	noOpen bool         // see ShortcutNoOpen
	ahead  *aheadReader // see ShortcutStoreAhead; nil: it is not taken

	killPriv bool         // see ShortcutKillPriv
	server   *fuse.Server // nil without a mount; set before any request

	mu      sync.RWMutex
	nodes   map[uint64]*Inode // guarded by mu
	numbers map[*Inode]uint64 // guarded by mu
	last    uint64            // greatest number given; guarded by mu
	devs    map[uint64]uint64 // devices of the store beside the root's; guarded by mu
	taken   []Shortcut        // guarded by mu

	dirs dirHandles
}

// newFS returns the FUSE side of a volume.
func newFS(v *Volume) (*FS, error) {
	root, err := v.Attr(v.Root())
	if err != nil {
		return nil, err
	}
	f := &FS{
		RawFileSystem: fuse.NewDefaultRawFileSystem(),
		v:             v,
		cache:         cacheLong,
		rootDev:       root.Dev,
		uid:           os.Geteuid(),
		gid:           os.Getegid(),
		nodes:         map[uint64]*Inode{fuse.FUSE_ROOT_ID: v.Root()},
		numbers:       map[*Inode]uint64{v.Root(): fuse.FUSE_ROOT_ID},
		last:          fuse.FUSE_ROOT_ID,
		devs:          map[uint64]uint64{},
	}
	if v.opts.Shared {
		f.cache = cacheShared
	}
	if r, ok := v.store.(store.Remote); ok {
		f.remote = r.Remote()
	}
	return f, nil
}

// String names the type of the file system, behind "fuse.".
func (f *FS) String() string { return "encfs" }

// inode returns the inode that the kernel knows by a number. The kernel's
// reference keeps it.
func (f *FS) inode(number uint64) *Inode {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.nodes[number]
}

// number returns the number of an inode to which the kernel gets a reference. If it
// knows no other yet, fresh is called with the new number, before anybody else can
// know it; it may be nil.
func (f *FS) number(i *Inode, fresh func(number uint64)) uint64 {
	f.mu.RLock()
	n, ok := f.numbers[i]
	f.mu.RUnlock()
	if ok {
		return n
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if n, ok := f.numbers[i]; ok {
		return n
	}
	f.last++
	if fresh != nil {
		fresh(f.last)
	}
	f.nodes[f.last], f.numbers[i] = i, f.last
	return f.last
}

// Forget returns references of the kernel to an inode.
func (f *FS) Forget(number, n uint64) {
	i := f.inode(number)
	if i == nil {
		return
	}
	f.settle(i)
	if f.v.Release(i, n) {
		f.mu.Lock()
		delete(f.nodes, number)
		delete(f.numbers, i)
		f.mu.Unlock()
	}
}

// ino returns the inode number that programs see: the store's own. Those of
// other devices than the root's, where something is mounted inside the tree, get
// a number of the device in the upper bits. Few file systems use those; where one
// does, two objects may show the same number.
func (f *FS) ino(dev, ino uint64) uint64 {
	if dev == f.rootDev {
		return ino
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	d, ok := f.devs[dev]
	if !ok {
		d = uint64(len(f.devs)) + 1
		f.devs[dev] = d
	}
	return ino ^ d<<48
}

// entry fills the reply that introduces an inode to the kernel.
func (f *FS) entry(i *Inode, a *Attr, out *fuse.EntryOut) {
	f.number(i, nil) // from when on it is not read ahead
	f.settle(i)
	f.fillEntry(i, a, out)
}

func (f *FS) fillEntry(i *Inode, a *Attr, out *fuse.EntryOut) {
	out.NodeId = f.number(i, nil)
	out.Generation = generation
	out.SetEntryTimeout(f.cache)
	out.SetAttrTimeout(f.attrTimeout(i, a))
	f.attr(a, &out.Attr)
}

// settle returns when a file may be opened, or forgotten.
func (f *FS) settle(i *Inode) {
	if e := i.behind.Load(); e != nil {
		e.open()
	}
}

// attrTimeout returns for how long the kernel may remember attributes: not at all
// those of a directory behind a fence. Nor of a file that shows as empty as it is
// damaged, so that the kernel asks, and is told, when somebody reads it, as it opens
// the file without us.
func (f *FS) attrTimeout(i *Inode, a *Attr) time.Duration {
	if f.noOpen && a.Damaged || i.fence.Load() != nil {
		return 0
	}
	return f.cache
}

func (f *FS) attr(a *Attr, out *fuse.Attr) {
	*out = fuse.Attr{
		Ino:     f.ino(a.Dev, a.Ino),
		Size:    uint64(a.Size),
		Blocks:  uint64(a.Blocks),
		Mode:    a.Mode,
		Nlink:   a.Nlink,
		Owner:   fuse.Owner{Uid: a.UID, Gid: a.GID},
		Rdev:    uint32(a.Rdev),
		Blksize: unitSize,
	}
	out.SetTimes(&a.Atime, &a.Mtime, &a.Ctime)
}

// owner is who a new object in dir belongs to: the caller. Only root can give
// files away; anybody else's caller is the process's own user.
func (f *FS) owner(dir *Inode, caller fuse.Owner) (Owner, error) {
	if f.uid != 0 || int(caller.Uid) == f.uid && int(caller.Gid) == f.gid || caller.Uid == math.MaxUint32 {
		return AnyOwner, nil
	}
	o := Owner{UID: int(caller.Uid), GID: int(caller.Gid)}
	a, err := f.v.Attr(dir)
	if err != nil {
		return o, err
	}
	if a.Mode&modeSetGID != 0 {
		o.GID = -1 // the directory's, which the store sees to
	}
	return o, nil
}

const modeSetGID = 0o2000

// status is the reply that tells an error.
func status(err error) fuse.Status { return fuse.Status(Errno(err)) }

// StatFs answers statfs(2).
func (f *FS) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	s, err := f.v.Statfs()
	if err != nil {
		return status(err)
	}
	*out = fuse.StatfsOut{
		Blocks: s.Blocks, Bfree: s.Bfree, Bavail: s.Bavail,
		Files: s.Files, Ffree: s.Ffree,
		Bsize: s.Bsize, Frsize: s.Frsize, NameLen: NameMax,
	}
	return fuse.OK
}
