package ext4

import (
	"encoding/binary"
	"os"
	"testing"

	"encfs/fs/ext4/ext4test"
	"encfs/fs/store"
)

// Fuzzing puts a structure into an image without checksums and uses all that can
// be reached. It looks for panics, endless loops and too much memory; whether
// errors are right is for other tests.

// seedImages are images in testdata whose structures are seeds.
var seedImages = []string{"v2-pad16-1k", "bigdir-1k", "frag-1k", "indirect-1k", "geom-old", "geom-new", "inline-data", "casefold", "dirty-nocsum", "dirty-csum"}

// seeds calls f for some inodes of the images in testdata.
func seeds(tb testing.TB, f func(s *Store, in *inode)) {
	for _, name := range seedImages {
		b := ext4test.Get(name).Image(tb)
		s, err := Open(readerAt(b), int64(len(b)), Options{})
		if err != nil {
			tb.Fatal(err)
		}
		for ino := uint32(1); ino <= min(s.sb.inodes, 60); ino++ {
			if in, err := s.inode(ino); err == nil {
				f(s, in)
			}
		}
	}
}

// readerAt is an image in memory.
type readerAt []byte

func (r readerAt) ReadAt(dst []byte, off int64) (int, error) {
	if off < 0 || off >= int64(len(r)) {
		return 0, os.ErrInvalid
	}
	n := copy(dst, r[off:])
	if n < len(dst) {
		return n, os.ErrInvalid
	}
	return n, nil
}

func FuzzSuperblock(f *testing.F) {
	for _, name := range seedImages {
		f.Add(ext4test.Get(name).Image(f)[superblockOffset:][:8192])
	}
	tinyImage := newTiny(128)
	f.Add(tinyImage.b[superblockOffset:][:8192])
	f.Fuzz(func(t *testing.T, b []byte) {
		img := newTiny(4096)
		copy(img.b[superblockOffset:], b[:min(len(b), 64<<10)])
		if s, err := img.open(); err == nil {
			exercise(s)
		}
		// Once more with the checksums out of the way.
		img.setSuper(func(sb []byte) {
			le.PutUint32(sb[0x64:], le.Uint32(sb[0x64:])&^(roCompatMetadataCsum|roCompatGDTCsum))
			le.PutUint32(sb[0x60:], le.Uint32(sb[0x60:])&uint32(incompatSupported))
		})
		if s, err := img.open(); err == nil {
			exercise(s)
		}
	})
}

func FuzzInode(f *testing.F) {
	seeds(f, func(s *Store, in *inode) { f.Add(in.raw) })
	f.Fuzz(func(t *testing.T, b []byte) {
		img := newTiny(256)
		copy(img.inode(tinyObject), b)
		exercise(img.mustOpen(t))
	})
}

// FuzzBlockMap takes a root, with block numbers as they are in the tiny image,
// and the blocks from tinyData+1 on.
func FuzzBlockMap(f *testing.F) {
	seeds(f, func(s *Store, in *inode) {
		b := append([]byte(nil), in.block[:]...)
		if h := decodeExtentHeader(b); in.isFlag(flagExtents) && h.depth > 0 && h.entries > 0 {
			child, err := s.cache.block(decodeExtentIndex(b[extentSize:]).child)
			if err != nil {
				f.Fatal(err)
			}
			le.PutUint32(b[extentSize+4:], tinyData+1)
			b = append(b, child.data...)
		}
		f.Add(b, uint64(s.size(in)), in.isFlag(flagExtents), in.isType(store.ModeDir))
	})
	f.Fuzz(func(t *testing.T, b []byte, size uint64, extents, dir bool) {
		img := newTiny(256)
		mode, flags := uint32(store.ModeRegular), uint32(0)
		if dir {
			mode = store.ModeDir
		}
		if extents {
			flags = flagExtents
		}
		head := b[:min(len(b), inodeBlock)]
		img.setInode(tinyObject, mode|0o700, size, flags, head)
		copy(img.b[(tinyData+1)*tinyBlock:], b[len(head):])
		exercise(img.mustOpen(t))
	})
}

func FuzzDirectory(f *testing.F) {
	seeds(f, func(s *Store, in *inode) {
		if !in.isType(store.ModeDir) || in.isFlag(flagInline) {
			return
		}
		var b []byte
		for nr := uint64(0); nr < 4; nr++ {
			if d, err := s.dirBlockAt(in, nr); err == nil {
				b = append(b, d.data[:min(len(d.data), tinyBlock)]...)
			}
		}
		f.Add(b, in.flags)
	})
	f.Fuzz(func(t *testing.T, b []byte, flags uint32) {
		img := newTiny(256)
		const first, most = tinyData + 1, 200
		blocks := min((len(b)+tinyBlock-1)/tinyBlock, most)
		flags &= flagIndex | flagEncrypt | flagCasefold
		img.setInode(tinyObject, store.ModeDir|0o700, uint64(blocks*tinyBlock), flags|flagExtents, tinyExtent(0, blocks, first))
		copy(img.b[first*tinyBlock:], b)
		exercise(img.mustOpen(t))
	})
}

// FuzzXattrs takes what is behind the fields of the inode, and a block.
func FuzzXattrs(f *testing.F) {
	const tail = tinyInodeSize - inodeMin - 32
	seeds(f, func(s *Store, in *inode) {
		inside := make([]byte, tail)
		if len(in.raw) > inodeMin+in.extra {
			copy(inside, in.raw[inodeMin+in.extra:])
		}
		var outside []byte
		if r, err := s.xattrBlock(in); err == nil {
			outside = r.values
		}
		f.Add(inside, outside, in.flags, in.mode)
	})
	f.Fuzz(func(t *testing.T, inside, outside []byte, flags uint32, mode uint16) {
		img := newTiny(256)
		const block = tinyData + 1
		img.setInode(tinyObject, uint32(mode), 100, flags, nil)
		raw := img.inode(tinyObject)
		le.PutUint32(raw[0x68:], block)
		copy(raw[inodeMin+32:], inside)
		copy(img.block(block), outside)
		exercise(img.mustOpen(t))
	})
}

func FuzzJournal(f *testing.F) {
	for _, name := range []string{"dirty-nocsum", "dirty-csum"} {
		b := ext4test.Get(name).Image(f)
		sb, err := parseSuperblock(b[:superblockOffset+superblockSize], int64(len(b)))
		if err != nil {
			f.Fatal(err)
		}
		s := new(Store)
		s.use(readerAt(b), sb, nil, Options{CacheSize: 1 << 20})
		in, err := s.inode(sb.journalInode)
		if err != nil {
			f.Fatal(err)
		}
		var log []byte
		for nr := uint64(0); nr < 120; nr++ {
			r, err := s.mapBlock(in, nr)
			if err != nil {
				f.Fatal(err)
			}
			log = append(log, b[r.physical<<s.dev.log2:][:min(s.dev.blockSize, tinyBlock)]...)
		}
		binary.BigEndian.PutUint32(log[0x0C:], tinyBlock)
		f.Add(log)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		img := newTiny(256)
		const first, most = tinyData + 1, 200
		blocks := max(min(len(b)/tinyBlock, most), 1)
		img.setInode(8, store.ModeRegular|0o600, uint64(blocks*tinyBlock), flagExtents, tinyExtent(0, blocks, first))
		copy(img.b[first*tinyBlock:], b)
		img.setSuper(func(sb []byte) {
			le.PutUint32(sb[0x60:], le.Uint32(sb[0x60:])|uint32(incompatRecover))
		})
		if s, err := img.open(); err == nil {
			exercise(s)
		}
	})
}
