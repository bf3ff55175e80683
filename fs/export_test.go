package fs

import (
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"encfs/decrypt"
)

// NewFS is newFS.
func NewFS(v *Volume) (*FS, error) { return newFS(v) }

// TakeShortcuts has f take all shortcuts, and store ahead by calling store.
func (f *FS) TakeShortcuts(store func(number uint64, data []byte) fuse.Status) {
	f.takeShortcuts(nil, true)
	f.ahead.storeIn(storeFunc(store))
}

type storeFunc func(number uint64, data []byte) fuse.Status

func (s storeFunc) InodeNotifyStoreCache(number uint64, _ int64, data []byte) fuse.Status {
	return s(number, data)
}

// InUse returns how many inodes besides the root somebody has a reference to.
func (v *Volume) InUse() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.inodes) - 1
}

// UnitTime returns how long a data unit of an open file takes to decrypt, as far
// as the queue wanted to know.
func (i *Inode) UnitTime() time.Duration { return i.unitTime }

// Listing reads a directory as a new handle does, and returns the first of the
// entries, which handles share, and their number.
func (f *FS) Listing(dir *Inode) (*DirEntry, int, error) {
	l, err := f.read(dir, nil)
	if err != nil {
		return nil, 0, err
	}
	return &l.entries[0], len(l.entries), nil
}

// StopAhead waits for the end of reading ahead.
func (f *FS) StopAhead() { f.ahead.stop() }

// WrapCipher makes the ciphers of contents, of a tree, what wrap makes of them.
func (v *Volume) WrapCipher(wrap func(decrypt.Cipher) decrypt.Cipher) {
	newCipher := v.driver.New
	v.driver.New = func(key []byte) (decrypt.Cipher, error) {
		c, err := newCipher(key)
		if err != nil {
			return nil, err
		}
		return wrap(c), nil
	}
}

// ReadUntil is readUntil.
func (v *Volume) ReadUntil(i *Inode, dst []byte, off int64, cancel <-chan struct{}) (int, error) {
	return v.readUntil(i, dst, off, cancel)
}

// ReadDirUntil is readDirUntil.
func (v *Volume) ReadDirUntil(dir *Inode, cancel <-chan struct{}) ([]DirEntry, error) {
	return v.readDirUntil(dir, cancel)
}

// PendingSignal is pendingSignal.
var PendingSignal = pendingSignal
