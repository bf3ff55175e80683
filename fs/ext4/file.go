package ext4

import (
	"fmt"
	"math"
	"syscall"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// unitSizeMin is the least size of a data unit, in bytes.
const unitSizeMin = 512

// A file is an open regular file. All of it is fixed when it is opened.
type file struct {
	s        *Store
	in       *inode
	size     int64
	context  []byte
	unitSize int
	inline   []byte // the contents, if that is where they are
}

// Open implements store.Store. Data units have the size of a block.
func (s *Store) Open(nd store.Node, write bool) (store.File, error) {
	if write {
		panic("ext4: open for writing")
	}
	return s.OpenUnits(nd, s.dev.blockSize)
}

// OpenUnits implements store.FileSystem.
func (s *Store) OpenUnits(nd store.Node, unitSize int) (store.File, error) {
	if unitSize < unitSizeMin || unitSize > s.dev.blockSize || unitSize&(unitSize-1) != 0 {
		panic(fmt.Sprintf("ext4: data units of %d bytes with blocks of %d", unitSize, s.dev.blockSize))
	}
	f, err := s.open(s.ino(nd), unitSize)
	if err != nil {
		return nil, fmt.Errorf("ext4: open: %w", err)
	}
	return f, nil
}

func (s *Store) open(ino uint32, unitSize int) (*file, error) {
	in, err := s.inode(ino)
	if err != nil {
		return nil, err
	}
	switch {
	case in.isType(store.ModeDir):
		return nil, syscall.EISDIR
	case !in.isType(store.ModeRegular):
		return nil, syscall.EINVAL
	}
	f := &file{s: s, in: in, size: s.size(in), unitSize: unitSize}
	if f.context, err = s.context(in); err != nil {
		return nil, err
	}
	if in.isFlag(flagInline) {
		if f.inline, err = s.inlineData(in); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// contents returns the contents of an inode that is a small file.
func (s *Store) contents(in *inode) ([]byte, error) {
	if in.isFlag(flagInline) {
		return s.inlineData(in)
	}
	f := &file{s: s, in: in, size: s.size(in), unitSize: s.dev.blockSize}
	units := (int(f.size) + f.unitSize - 1) / f.unitSize
	b := make([]byte, units*f.unitSize)
	_, err := f.ReadUnits(b, 0, make([]bool, units))
	return b[:f.size], err
}

// Close implements io.Closer.
func (f *file) Close() error { return nil }

// Context implements store.File.
func (f *file) Context() []byte { return f.context }

// Size implements store.File.
func (f *file) Size() int64 { return f.size }

// Layout implements store.File. There is one layout; files of size 0 have their
// context too.
func (f *file) Layout() store.Layout { return store.LayoutBlocks }

// Attr implements store.File.
func (f *file) Attr() (store.Attr, error) { return f.s.attr(f.in) }

// Reload implements store.File. Nobody changes the file.
func (f *file) Reload() error { return nil }

// ReadUnits implements store.File. Units of holes are zeros in dst.
func (f *file) ReadUnits(dst []byte, first uint64, holes []bool) (int, error) {
	if len(dst)%f.unitSize != 0 {
		panic(fmt.Sprintf("ext4: %d bytes of data units of %d", len(dst), f.unitSize))
	}
	if f.size == 0 || first > uint64(f.size-1)/uint64(f.unitSize) {
		return 0, nil
	}
	off := int64(first) * int64(f.unitSize)
	units := uint64(f.size-1)/uint64(f.unitSize) + 1 - first
	n := len(dst)
	if units < uint64(n/f.unitSize) {
		n = int(units) * f.unitSize
	}
	dst = dst[:n]
	if f.inline != nil {
		clear(dst)
		copy(dst, f.inline[off:])
		clear(holes[:n/f.unitSize])
		return n, nil
	}
	for done := 0; done < n; {
		at := uint64(off) + uint64(done)
		r, err := f.s.mapBlock(f.in, at>>f.s.dev.log2)
		if err != nil {
			return 0, fmt.Errorf("ext4: read: %w", err)
		}
		skip := int(at) & (f.s.dev.blockSize - 1)
		part := dst[done:]
		if r.blocks <= uint64(len(part)+skip)>>f.s.dev.log2 {
			part = part[:min(len(part), int(r.blocks)<<f.s.dev.log2-skip)]
		}
		if r.isHole() {
			clear(part)
		} else if err := f.s.dev.readAt(part, int64(r.physical)<<f.s.dev.log2+int64(skip)); err != nil {
			return 0, err
		}
		for u := range len(part) / f.unitSize {
			holes[done/f.unitSize+u] = r.isHole()
		}
		done += len(part)
	}
	return n, nil
}

// Seek implements store.File.
func (f *file) Seek(off int64, whence int) (int64, error) {
	if whence != unix.SEEK_DATA && whence != unix.SEEK_HOLE {
		panic(fmt.Sprintf("ext4: seek with whence %d", whence))
	}
	if off < 0 || off >= f.size {
		return 0, fmt.Errorf("ext4: seek: %w", syscall.ENXIO)
	}
	if f.inline != nil {
		if whence == unix.SEEK_HOLE {
			off = f.size
		}
		return off, nil
	}
	log2 := f.s.dev.log2
	data := uint64(0) // blocks of data passed
	for nr := uint64(off) >> log2; nr <= uint64(f.size-1)>>log2; {
		r, err := f.s.mapBlock(f.in, nr)
		if err != nil {
			return 0, fmt.Errorf("ext4: seek: %w", err)
		}
		if r.isHole() == (whence == unix.SEEK_HOLE) {
			return max(off, int64(nr)<<log2), nil
		}
		if !r.isHole() {
			if data += r.blocks; data > f.s.dev.blocks {
				return 0, fmt.Errorf("ext4: seek: %w", f.in.damaged("has more blocks than the file system"))
			}
		}
		if r.blocks > math.MaxInt64>>log2 {
			break
		}
		nr += r.blocks
	}
	if whence == unix.SEEK_HOLE {
		return f.size, nil
	}
	return 0, fmt.Errorf("ext4: seek: %w", syscall.ENXIO)
}
