package ext4

import (
	"bytes"
	"io"
	"math"
	"math/bits"
)

const superblockName = "superblock"

// parseSuperblock takes the superblock from b, what an image of size bytes begins
// with, and checks it.
func parseSuperblock(b []byte, size int64) (superblock, error) {
	if len(b) < superblockOffset+superblockSize || le.Uint16(b[superblockOffset+0x38:]) != superMagic {
		return superblock{}, &NotExt4Error{found(b)}
	}
	raw := b[superblockOffset:]
	s := decodeSuperblock(raw)
	if f := s.incompat.unsupported(); f != "" {
		return s, &UnsupportedError{f}
	}
	return s, s.check(raw, size)
}

// A Label tells one file system from another.
type Label struct {
	UUID [16]byte
	Name string // which may be empty, and have any bytes but zeros
}

// ReadLabel returns the label of the file system in an image, and whether there
// is an ext4 file system at all. It looks at nothing else.
func ReadLabel(image io.ReaderAt) (l Label, ok bool) {
	b := make([]byte, superblockSize)
	if n, _ := image.ReadAt(b, superblockOffset); n < len(b) || le.Uint16(b[0x38:]) != superMagic {
		return l, false
	}
	name, _, _ := bytes.Cut(b[0x78:][:16], []byte{0})
	return Label{decodeSuperblock(b).uuid, string(name)}, true
}

// blockSize returns the size of a block in bytes.
func (s *superblock) blockSize() int { return 1024 << s.log2Block }

// groups returns how many block groups there are.
func (s *superblock) groups() uint64 {
	return (s.blocks - uint64(s.firstData) + uint64(s.blocksPerGroup) - 1) / uint64(s.blocksPerGroup)
}

// hasChecksums reports whether metadata has checksums.
func (s *superblock) hasChecksums() bool { return s.roCompat&roCompatMetadataCsum != 0 }

// seed returns the start value of the checksums of metadata.
func (s *superblock) seed() uint32 {
	if s.incompat.has(incompatCsumSeed) {
		return s.checksumSeed
	}
	return crc32c(crcStart, s.uuid[:])
}

// check looks whether the numbers make sense, for what follows computes with
// them, and fills in those that old revisions do not have. size is that of the
// image, in bytes.
func (s *superblock) check(raw []byte, size int64) error {
	bad := func(format string, args ...any) error { return damaged(superblockName, format, args...) }
	if s.hasChecksums() {
		if s.checksumType != 1 {
			return bad("checksums of type %d", s.checksumType)
		}
		if sum := crc32c(crcStart, raw[:superblockSize-4]); sum != s.checksum {
			return bad("checksum is %08x, but computes to %08x", s.checksum, sum)
		}
	}
	if s.revision == 0 {
		s.inodeSize, s.firstInode = inodeMin, 11
	}
	if !s.incompat.has(incompat64bit) {
		s.descSize = groupDescMin
	}
	const log2BlockMax = 6 // 64 KiB
	switch {
	case s.revision > 1:
		return bad("revision %d", s.revision)
	case s.log2Block > log2BlockMax:
		return bad("blocks of 2^%d bytes", uint64(s.log2Block)+10)
	case s.log2Cluster > 20 || s.log2Cluster < s.log2Block:
		return bad("clusters of 2^%d bytes", uint64(s.log2Cluster)+10)
	}
	blockSize := s.blockSize()
	perGroupMax := uint64(8*blockSize) << (s.log2Cluster - s.log2Block) // what a block of bitmap describes
	switch {
	case s.inodeSize < inodeMin || int(s.inodeSize) > blockSize || bits.OnesCount16(s.inodeSize) != 1:
		return bad("inodes of %d bytes", s.inodeSize)
	case s.descSize < groupDescMin || s.incompat.has(incompat64bit) && s.descSize < groupDesc64 ||
		int(s.descSize) > blockSize || bits.OnesCount16(s.descSize) != 1:
		return bad("group descriptors of %d bytes", s.descSize)
	case s.blocksPerGroup == 0 || uint64(s.blocksPerGroup) > perGroupMax:
		return bad("%d blocks in a group", s.blocksPerGroup)
	case s.inodesPerGroup == 0 || int(s.inodesPerGroup) > 8*blockSize:
		return bad("%d inodes in a group", s.inodesPerGroup)
	case uint64(s.firstData) >= s.blocks || s.firstData > 1:
		return bad("first data block is %d of %d", s.firstData, s.blocks)
	case s.blocks > math.MaxInt64/uint64(blockSize):
		return bad("%d blocks", s.blocks)
	case uint64(s.inodes) > s.groups()*uint64(s.inodesPerGroup) || s.inodes < rootInode:
		return bad("%d inodes in %d groups of %d", s.inodes, s.groups(), s.inodesPerGroup)
	case s.firstInode <= rootInode:
		return bad("first usable inode is %d", s.firstInode)
	}
	if want := int64(s.blocks) * int64(blockSize); size < want {
		return &TruncatedError{Size: size, Want: want}
	}
	return nil
}
