package fs

import (
	"slices"
	"sync"
	"weak"

	"github.com/hanwen/go-fuse/v2/fuse"

	"encfs/fs/store"
)

// Requests about the entries of directories. An opening of a directory has a
// handle with the entries as they were when it was read from its beginning, so
// that offsets stay good while entries come and go. Handles between which nothing
// has changed share them.

// A dirHandle is an opening of a directory.
type dirHandle struct {
	mu      sync.Mutex
	listing *listing // nil before the first read
}

// A listing is the entries of a directory, "." and ".." first, when so many
// changes had been made to it.
type listing struct {
	entries []DirEntry
	changes uint64
}

// dirHandles numbers the openings of directories.
type dirHandles struct {
	mu   sync.Mutex
	open map[uint64]*dirHandle // guarded by mu
	last uint64                // guarded by mu
}

func (d *dirHandles) add() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		d.open = map[uint64]*dirHandle{}
	}
	d.last++
	d.open[d.last] = new(dirHandle)
	return d.last
}

func (d *dirHandles) get(fh uint64) *dirHandle {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[fh]
}

func (d *dirHandles) remove(fh uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, fh)
}

func (f *FS) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	// Without the key of its names there is nothing to list: better said now.
	if _, err := f.v.naming(f.inode(in.NodeId)); err != nil {
		return status(err)
	}
	out.Fh = f.dirs.add()
	return fuse.OK
}

func (f *FS) ReleaseDir(in *fuse.ReleaseIn) { f.dirs.remove(in.Fh) }

func (f *FS) FsyncDir(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return status(f.v.SyncDir(f.inode(in.NodeId)))
}

// list returns the entries from the offset of a request on. At 0 it reads the directory
// anew, which takes its time if that is large and may be interrupted. h.mu is held.
func (f *FS) list(h *dirHandle, dir *Inode, cancel <-chan struct{}, in *fuse.ReadIn) ([]DirEntry, error) {
	off := in.Offset
	if off == 0 || h.listing == nil {
		err := interruptible(cancel, in.Pid, func(cancel <-chan struct{}) error {
			l, err := f.read(dir, cancel)
			if err == nil {
				h.listing = l
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if off >= uint64(len(h.listing.entries)) {
		return nil, nil
	}
	return h.listing.entries[off:], nil
}

// read returns the listing of a directory: that of another handle if it is still
// true, which nobody knows where others change the store too.
func (f *FS) read(dir *Inode, cancel <-chan struct{}) (*listing, error) {
	changes := dir.changes.Load()
	if p := dir.listing.Load(); p != nil && !f.v.opts.Shared {
		if l := p.Value(); l != nil && l.changes == changes {
			return l, nil
		}
	}
	entries, err := f.entries(dir, cancel)
	if err != nil {
		return nil, err
	}
	l := &listing{entries, changes}
	p := weak.Make(l)
	dir.listing.Store(&p)
	return l, nil
}

// entries reads a directory. The inode numbers are those that Attr tells, except
// that a mount point has the one of the directory below, as elsewhere, and that
// the number of ".." is left to the kernel.
func (f *FS) entries(dir *Inode, cancel <-chan struct{}) ([]DirEntry, error) {
	a, err := f.v.Attr(dir)
	if err != nil {
		return nil, err
	}
	entries, err := f.v.readDirUntil(dir, cancel)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		entries[i].Ino = f.ino(a.Dev, entries[i].Ino)
	}
	return slices.Insert(entries, 0,
		DirEntry{Name: ".", Type: store.ModeDir, Ino: f.ino(a.Dev, a.Ino)},
		DirEntry{Name: "..", Type: store.ModeDir}), nil
}

func (f *FS) ReadDir(cancel <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	h := f.dirs.get(in.Fh)
	h.mu.Lock()
	defer h.mu.Unlock()
	entries, err := f.list(h, f.inode(in.NodeId), cancel, in)
	if err != nil {
		return status(err)
	}
	for _, e := range entries {
		if !out.AddDirEntry(fuse.DirEntry{Name: e.Name, Ino: e.Ino, Mode: e.Type}) {
			break
		}
	}
	return fuse.OK
}

func (f *FS) ReadDirPlus(cancel <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	h := f.dirs.get(in.Fh)
	h.mu.Lock()
	defer h.mu.Unlock()
	dir := f.inode(in.NodeId)
	scan := f.newScan(dir, in)
	entries, err := f.list(h, dir, cancel, in)
	if err != nil {
		return status(err)
	}
	for _, e := range entries {
		o := out.AddDirLookupEntry(fuse.DirEntry{Name: e.Name, Ino: e.Ino, Mode: e.Type})
		if o == nil {
			break
		}
		if e.sealed == nil && !e.bad { // "." and ".."
			continue
		}
		// An entry that is gone by now, or cannot be looked at, goes out
		// without attributes; whoever wants them asks and gets the error.
		i, a, err := f.v.LookupEntry(dir, e)
		if err != nil {
			continue
		}
		scan.entry(i, &a, o)
		out.FixMode(a.Mode)
	}
	return fuse.OK
}
