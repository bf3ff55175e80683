package fs

import (
	"container/list"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"encfs/decrypt"
	"encfs/fs/store"
)

// An Inode is an object of a volume that is in use. There is one for each
// object, whatever names it has. Lookup and the creating methods return one
// with a reference more, which Volume.Release gives back.
type Inode struct {
	node store.Node
	typ  uint32 // S_IFMT bits
	refs uint64 // guarded by Volume.mu

	naming atomic.Pointer[naming] // of a directory; set once
	target atomic.Pointer[string] // of a symbolic link; set once

	// Of a directory: how often its entries may have changed, and what its last
	// listing was while a handle has it.
	changes atomic.Uint64
	listing atomic.Pointer[weak.Pointer[listing]]

	// mu guards the contents of a regular file: held for reading while data
	// units are read, for writing while they, the size or the fields below
	// change.
	mu       sync.RWMutex
	file     store.File        // nil: not open
	writer   store.FileWriter  // file, if it is open for writing, else nil
	opens    int               // Open calls without their CloseFile; 0 with a file that is kept
	unitSize int               // of file, in bytes
	contents *decrypt.Contents // nil: nothing to decrypt
	cut      bool              // what lay behind the end was overwritten with zeros, perhaps not on stable storage yet
	context  string            // the stored context that contents is for
	unitTime time.Duration     // that contents takes for a data unit, if the queue wants to know

	// told is the size of a regular file that was told last, -1 before the first
	// time. It is kept where the file is opened on demand, and not while it is open.
	told atomic.Int64

	// Of what is read ahead; see aheadReader.
	fence  atomic.Pointer[fence] // of a directory; nil: none, or it is open
	behind atomic.Pointer[fence] // of a file
	listed atomic.Uint32         // process that the file was first shown to, in a listing, and that has not read it; 0: none

	// Of a file that is kept open, see openFiles.
	kept  bool          // guarded by mu
	used  atomic.Bool   // since the queue last looked at it
	place *list.Element // in the queue, nil if it is not there; guarded by openFiles.mu
}

// Type returns the type of the inode, as the S_IFMT bits of stat(2).
func (i *Inode) Type() uint32 { return i.typ }

// String returns where the inode lies in the store, for messages.
func (i *Inode) String() string { return i.node.String() }

func (v *Volume) newInode(node store.Node, typ uint32) *Inode {
	i := &Inode{node: node, typ: typ & store.ModeType}
	i.told.Store(-1)
	return i
}

// inode returns the inode of a node, with one reference more. The caller gives
// its reference to the node.
func (v *Volume) inode(node store.Node, mode uint32) *Inode {
	v.mu.Lock()
	defer v.mu.Unlock()
	i := v.inodes[node]
	if i == nil {
		i = v.newInode(node, mode)
		v.inodes[node] = i
	}
	i.refs++
	return i
}

// Release gives back n references to an inode and reports whether they were the
// last; the caller must not use the inode afterwards. It panics if there are not
// so many.
func (v *Volume) Release(i *Inode, n uint64) bool {
	if i == v.root {
		return false
	}
	last := v.unref(i, n)
	if last {
		v.closeForGood(i)
	}
	v.store.Release(i.node, n)
	return last
}

// unref takes references off an inode, and the inode out of the table when it
// has none left.
func (v *Volume) unref(i *Inode, n uint64) (last bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if n > i.refs {
		panic("fs: more references to an inode released than taken")
	}
	i.refs -= n
	if i.refs > 0 {
		return false
	}
	delete(v.inodes, i.node)
	return true
}

// isOpen reports whether an inode is a file that is open.
func (i *Inode) isOpen() bool {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.file != nil
}

// closeForGood closes a file that is still open: one that is kept, or in use when
// a mount ends.
func (v *Volume) closeForGood(i *Inode) {
	i.mu.Lock()
	defer i.mu.Unlock()
	v.files.drop(i)
	if i.file != nil {
		i.file.Close()
		i.file, i.writer, i.opens = nil, nil, 0
	}
}
