package fs

import (
	"container/list"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// A volume can keep files of the store open that nobody has open, and open files
// by itself that somebody reads or writes. It does where the kernel does not tell
// of openings, see ShortcutNoOpen. A kept file is closed to make room for others or
// with the last reference to its inode.

// An openFiles is the kept files of a volume. The zero value keeps none.
type openFiles struct {
	limit int          // how many are kept; 0: none, and files have to be opened. Set before any request
	count atomic.Int64 // length of queue

	mu    sync.Mutex
	queue list.List // of *Inode, the next to be closed in front; guarded by mu
}

// maxKept bounds the memory for kept files, of about 2 kB each.
const maxKept = 1024

// defaultKept leaves most descriptors to others.
func defaultKept() int {
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		return 64
	}
	return int(max(8, min(lim.Cur/4, maxKept)))
}

// keep takes an inode in whose file has just been used. i.mu is held.
func (o *openFiles) keep(i *Inode) {
	i.used.Store(true)
	if i.kept {
		return
	}
	i.kept = true
	o.mu.Lock()
	defer o.mu.Unlock()
	i.place = o.queue.PushBack(i)
	o.count.Store(int64(o.queue.Len()))
}

// drop takes an inode out. i.mu is held.
func (o *openFiles) drop(i *Inode) {
	if !i.kept {
		return
	}
	i.kept = false
	o.mu.Lock()
	defer o.mu.Unlock()
	if i.place != nil {
		o.queue.Remove(i.place)
		i.place = nil
	}
	o.count.Store(int64(o.queue.Len()))
}

// next takes out the inode whose file is to be closed, nil if there are not too
// many. One that was used since it was looked at last stays for another round.
func (o *openFiles) next() *Inode {
	if o.count.Load() <= int64(o.limit) {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.queue.Len() > o.limit {
		e := o.queue.Front()
		i := e.Value.(*Inode)
		if i.used.Swap(false) {
			o.queue.MoveToBack(e)
			continue
		}
		o.queue.Remove(e)
		i.place = nil
		o.count.Store(int64(o.queue.Len()))
		return i
	}
	return nil
}

// trimFiles closes kept files until there are not too many. No inode is locked.
func (v *Volume) trimFiles() {
	for i := v.files.next(); i != nil; i = v.files.next() {
		v.closeKept(i)
	}
}

// closeKept closes the file of an inode that next took out. An error, as network
// file systems tell it last, has nobody to go to but the log.
func (v *Volume) closeKept(i *Inode) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.kept = false
	if i.opens > 0 || i.file == nil {
		return
	}
	f := i.file
	i.file, i.writer = nil, nil
	i.told.Store(f.Size())
	if err := f.Close(); err != nil {
		v.opts.Log.Error("closing a file failed, perhaps with data not written", "error", err)
	}
}

// onDemand opens the file of an inode for a request that finds it closed, unless
// files have to be opened. i.mu is held.
func (v *Volume) onDemand(i *Inode, write bool) error {
	if v.files.limit == 0 {
		return unix.EBADF
	}
	if err := v.isFile(i, write); err != nil {
		return err
	}
	closed := i.file == nil
	if err := v.openFile(i, write); err != nil {
		return err
	}
	v.files.keep(i)
	if size, told := i.file.Size(), i.told.Load(); closed && size < told {
		// Programs and the kernel take the file to be as long as they were told.
		i.file.Close()
		i.file, i.writer = nil, nil
		return v.report(&store.DamagedError{Path: i.node.String(), Detail: fmt.Sprintf("was cut from outside, from %d bytes to %d", told, size)})
	}
	return nil
}

// checkSize returns an error for a regular file that has no size.
func (v *Volume) checkSize(i *Inode) error {
	if i.typ != store.ModeRegular {
		return nil
	}
	a, err := v.Attr(i)
	if err != nil || !a.Damaged {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return v.onDemand(i, false) // which says what is wrong
}

// rlockOpen locks an inode for reading, with its file open.
func (v *Volume) rlockOpen(i *Inode) error {
	for {
		i.mu.RLock()
		if i.file != nil {
			if v.files.limit > 0 {
				i.used.Store(true)
			}
			return nil
		}
		i.mu.RUnlock()
		i.mu.Lock()
		var err error
		if i.file == nil {
			err = v.onDemand(i, false)
		}
		i.mu.Unlock()
		if err != nil {
			return err
		}
		v.trimFiles()
	}
}
