package fs

// An InodeSet has the inodes that a walk through a tree has met. In a damaged file
// system a directory may have several names, and lie in itself; who follows each of
// them does not come to an end. It has a bit for each number. The zero value is empty.
// It is not safe for concurrent use.
type InodeSet struct {
	bits map[inodeRange]uint64
}

// An inodeRange stands for 64 inode numbers of a device.
type inodeRange struct{ dev, high uint64 }

// Add adds the inode with some attributes and reports whether it is new.
func (s *InodeSet) Add(a Attr) bool {
	if s.bits == nil {
		s.bits = map[inodeRange]uint64{}
	}
	r, bit := inodeRange{a.Dev, a.Ino >> 6}, uint64(1)<<(a.Ino&63)
	was := s.bits[r]
	s.bits[r] = was | bit
	return was&bit == 0
}
