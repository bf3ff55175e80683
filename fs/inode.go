package fs

import (
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
	opens    int               // Open calls without their CloseFile
	unitSize int               // of file, in bytes
	contents *decrypt.Contents // nil: nothing to decrypt
	cut      bool              // what lay behind the end was overwritten with zeros, perhaps not on stable storage yet
	context  string            // the stored context that contents is for
	unitTime time.Duration     // that contents takes for a data unit, if the queue wants to know
}

// Type returns the type of the inode, as the S_IFMT bits of stat(2).
func (i *Inode) Type() uint32 { return i.typ }

// String returns where the inode lies in the store, for messages.
func (i *Inode) String() string { return i.node.String() }

func (v *Volume) newInode(node store.Node, typ uint32) *Inode {
	return &Inode{node: node, typ: typ & store.ModeType}
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
		i.closeForGood()
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

// closeForGood closes a file that is still open, as it is when a mount ends
// while programs use it.
func (i *Inode) closeForGood() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.file != nil {
		i.file.Close()
		i.file, i.writer, i.opens = nil, nil, 0
	}
}
