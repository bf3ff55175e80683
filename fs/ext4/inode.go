package ext4

import (
	"math"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

const rootInode = 2

// inode reads and checks an inode.
func (s *Store) inode(ino uint32) (*inode, error) {
	at := node(ino).String()
	if ino == 0 || ino > s.sb.inodes {
		return nil, damaged(at, "there are %d inodes", s.sb.inodes)
	}
	g, err := s.group((ino - 1) / s.sb.inodesPerGroup)
	if err != nil {
		return nil, err
	}
	offset := uint64((ino-1)%s.sb.inodesPerGroup) * uint64(s.sb.inodeSize)
	nr := g.inodeTable + offset>>s.dev.log2
	if !s.dev.has(g.inodeTable, 1) || !s.dev.has(nr, 1) {
		return nil, damaged(at, "it is in block %d of %d", nr, s.dev.blocks)
	}
	b, err := s.cache.block(nr)
	if err != nil {
		return nil, err
	}
	raw := b.data[offset&uint64(s.dev.blockSize-1):][:s.sb.inodeSize]
	in := decodeInode(ino, raw)
	if inodeMin+in.extra > len(raw) || in.extra%4 != 0 {
		return nil, in.damaged("extra fields of %d bytes in block %d", in.extra, nr)
	}
	if s.sb.hasChecksums() {
		sum := s.inodeChecksum(in)
		if !in.checksumIsLong {
			sum &= 0xFFFF
		}
		if sum != in.checksum {
			return nil, in.damaged("checksum of the inode in block %d is %08x, but computes to %08x", nr, in.checksum, sum)
		}
	}
	if in.mode == 0 || in.links == 0 {
		return in, in.damaged("is not in use")
	}
	if s.size(in) < 0 {
		return in, in.damaged("size is %d", uint64(s.size(in)))
	}
	return in, nil
}

// own returns the start value of the checksums of blocks that belong to an
// inode.
func (s *Store) own(in *inode) uint32 {
	return crc32cLE32(crc32cLE32(s.seed, in.ino), in.generation)
}

// inodeChecksum computes the checksum of an inode.
func (s *Store) inodeChecksum(in *inode) uint32 {
	const low, high = 0x7C, 0x82 // its two halves
	zero := []byte{0, 0}
	sum := crc32c(crc32c(s.own(in), in.raw[:low]), zero)
	if !in.checksumIsLong {
		return crc32c(sum, in.raw[low+2:])
	}
	sum = crc32c(crc32c(sum, in.raw[low+2:high]), zero)
	return crc32c(sum, in.raw[high+2:])
}

// size returns the size in bytes, of a symbolic link that of what is stored. It
// is negative if it is damaged.
func (s *Store) size(in *inode) int64 {
	if in.isType(store.ModeRegular) || s.sb.incompat.has(incompatLargeDir) {
		return int64(in.sizeHigh)<<32 | int64(in.sizeLow)
	}
	return int64(in.sizeLow)
}

func (in *inode) isType(typ uint32) bool { return uint32(in.mode)&store.ModeType == typ }

func (in *inode) isFlag(flag uint32) bool { return in.flags&flag != 0 }

// attr returns the attributes of an inode.
func (s *Store) attr(in *inode) (store.Attr, error) {
	a := store.Attr{
		Ino:  uint64(in.ino),
		Mode: uint32(in.mode),
		// With dir_nlink, 1 means that a directory has too many to count.
		Nlink: uint32(in.links),
		UID:   in.uid, GID: in.gid,
		Size:  s.size(in),
		Atime: in.atime, Mtime: in.mtime, Ctime: in.ctime, Birthtime: in.crtime,
	}
	blocks := in.blocks
	switch {
	case s.sb.roCompat&roCompatHugeFile == 0:
		blocks &= math.MaxUint32
	case in.isFlag(flagHugeFile):
		blocks <<= s.dev.log2 - 9
	}
	a.Blocks = int64(blocks)
	switch a.Mode & store.ModeType {
	case store.ModeRegular, store.ModeDir, store.ModeFIFO, store.ModeSocket:
	case store.ModeSymlink:
		if in.isFlag(flagEncrypt) {
			a.Size = max(a.Size-targetHeader, 0)
		}
	case store.ModeChar, store.ModeBlock:
		a.Rdev = in.device()
	default:
		return a, in.damaged("mode is %o", in.mode)
	}
	return a, nil
}

// device returns the device number of an inode, which has the old form or the
// new one.
func (in *inode) device() uint64 {
	if old := le.Uint32(in.block[0:]); old != 0 {
		return unix.Mkdev(old>>8&0xFF, old&0xFF)
	}
	v := le.Uint32(in.block[4:])
	return unix.Mkdev(v>>8&0xFFF, v&0xFF|v>>12&0xFFF00)
}
