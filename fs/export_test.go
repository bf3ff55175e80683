package fs

// NewFS is newFS.
func NewFS(v *Volume) (*FS, error) { return newFS(v) }

// InUse returns how many inodes besides the root somebody has a reference to.
func (v *Volume) InUse() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.inodes) - 1
}
