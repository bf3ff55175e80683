package fs

import "time"

// NewFS is newFS.
func NewFS(v *Volume) (*FS, error) { return newFS(v) }

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
	l, err := f.read(dir)
	if err != nil {
		return nil, 0, err
	}
	return &l.entries[0], len(l.entries), nil
}
