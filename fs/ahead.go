package fs

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/hanwen/go-fuse/v2/fuse"

	"encfs/fs/store"
)

// Reading ahead across files, ShortcutStoreAhead. A process that lists directories
// and reads what it finds there, as tar and grep do, is a scanner. What it will
// read next is put into the kernel's page cache with FUSE_NOTIFY_STORE, so that
// it comes without a READ, and the kernel goes on to know the attributes of the
// file, of which a READ makes it forget the time of access. A fence keeps that from
// meeting anything else that happens to the file.

const (
	maxStored       = 1 << 20 // bytes of the largest file that is stored
	maxAheadWorkers = 4
)

// A contentsCache takes contents of files; a fuse.Server is one.
type contentsCache interface {
	InodeNotifyStoreCache(node uint64, offset int64, data []byte) fuse.Status
}

// An aheadReader reads ahead for a mount.
type aheadReader struct {
	v     *Volume
	cache atomic.Pointer[contentsCache] // the kernel's; nil until there is a mount
	scans scanners

	buffers sync.Pool // of *[maxStored]byte, which hold plaintext until they go back

	mu      sync.Mutex
	stopped bool           // guarded by mu
	workers int            // at work; guarded by mu
	group   sync.WaitGroup // of the workers
}

func newAheadReader(v *Volume) *aheadReader {
	return &aheadReader{v: v, buffers: sync.Pool{New: func() any { return new([maxStored]byte) }}}
}

// storeIn has files stored in a cache from now on.
func (r *aheadReader) storeIn(cache contentsCache) { r.cache.Store(&cache) }

// start has an idle CPU store what there is behind a fence.
func (r *aheadReader) start(e *fence) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped || r.workers >= min(max(1, runtime.NumCPU()-1), maxAheadWorkers) {
		return
	}
	r.workers++
	r.group.Go(func() {
		r.storeAll(e)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.workers--
	})
}

// stop returns when no worker is at work any more, nor will be.
func (r *aheadReader) stop() {
	r.mu.Lock()
	r.stopped = true
	r.mu.Unlock()
	r.group.Wait()
}

// storeAll stores what there is behind a fence and not stored yet. Others may be at
// it as well.
func (r *aheadReader) storeAll(e *fence) {
	cache := r.cache.Load()
	if cache == nil {
		return
	}
	for file := e.take(); file != nil; file = e.take() {
		r.store(*cache, file)
		e.done()
	}
}

// store puts the contents of a file into the kernel's cache. What cannot be read is
// left to a READ, which tells the error. The kernel may not know the file yet, or not
// any more.
func (r *aheadReader) store(cache contentsCache, file *aheadFile) {
	buf := r.buffers.Get().(*[maxStored]byte)
	defer r.buffers.Put(buf)
	dst := buf[:(file.size+unitSize-1)/unitSize*unitSize]
	defer clear(dst)
	if err := r.v.readWhole(file.inode, dst, file.size); err != nil {
		return
	}
	if cache.InodeNotifyStoreCache(file.number, 0, dst[:file.size]).Ok() {
		r.v.counters.stored(int(file.size))
	}
}

// asked is called when a process wants the attributes of a directory behind a
// fence, before it gets them.
func (r *aheadReader) asked(e *fence, process uint32) {
	if e.ask(process) {
		r.storeAll(e)
		e.open()
	}
}

// A dirScan is a READDIRPLUS under way.
type dirScan struct {
	f       *FS
	process uint32
	fence   *fence // behind which the files that are found are stored; nil: they are not
}

// newScan begins a READDIRPLUS of a directory.
func (f *FS) newScan(dir *Inode, in *fuse.ReadIn) *dirScan {
	process := in.Pid
	s := &dirScan{f: f, process: process}
	if f.ahead == nil {
		return s
	}
	if in.Offset == 0 {
		f.ahead.scans.list(process)
	}
	e := dir.fence.Load()
	if e == nil || !e.list(process) || !f.ahead.scans.trusted(process) {
		return s
	}
	s.fence = e
	if in.Offset > 0 {
		f.ahead.start(e) // the kernel has got the last reply
	}
	return s
}

// entry is FS.entry for what the scan has found.
func (s *dirScan) entry(i *Inode, a *Attr, out *fuse.EntryOut) {
	if s.f.ahead != nil {
		s.f.number(i, func(number uint64) { s.found(i, number, a) })
	}
	if i.behind.Load() != s.fence {
		s.f.settle(i)
	}
	s.f.fillEntry(i, a, out)
}

// found is called for what the kernel does not know yet, before anybody else can know
// its number.
func (s *dirScan) found(i *Inode, number uint64, a *Attr) {
	scans := &s.f.ahead.scans
	switch {
	case i.typ == store.ModeDir:
		if scans.suspected(s.process) {
			i.fence.Store(newFence(i, s.process))
		}
	case i.typ == store.ModeRegular && a.Size > 0:
		i.listed.Store(s.process)
		if s.fence != nil && a.Size <= maxStored && !scans.probe(s.process) {
			s.fence.add(&aheadFile{i, number, a.Size})
		}
	}
}
