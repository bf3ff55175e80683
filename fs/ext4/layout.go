package ext4

import (
	"encoding/binary"
	"time"
)

var le = binary.LittleEndian

// The records of the format. Each is a struct with the fields that a reader
// needs and a function that takes them from the bytes, all of them there.

const (
	superblockOffset = 1024
	superblockSize   = 1024
	superMagic       = 0xEF53
)

// superblock is struct ext4_super_block, 1024 bytes.
type superblock struct {
	inodes         uint32
	blocks         uint64
	reserved       uint64 // blocks for root
	freeBlocks     uint64
	freeInodes     uint32
	firstData      uint32 // first data block
	log2Block      uint32 // of the block size, less 10
	log2Cluster    uint32
	blocksPerGroup uint32
	inodesPerGroup uint32
	magic          uint16
	revision       uint32
	firstInode     uint32
	inodeSize      uint16
	compat         uint32
	incompat       incompat
	roCompat       uint32
	uuid           [16]byte
	journalInode   uint32
	hashSeed       [4]uint32
	hashVersion    uint8
	descSize       uint16
	firstMetaBG    uint32
	flags          uint32
	checksumType   uint8
	backupGroups   [2]uint32
	overheadBlocks uint32
	checksumSeed   uint32
	encoding       uint16
	encodingFlags  uint16
	checksum       uint32
}

func decodeSuperblock(b []byte) superblock {
	s := superblock{
		inodes:         le.Uint32(b[0x00:]),
		blocks:         uint64(le.Uint32(b[0x04:])),
		reserved:       uint64(le.Uint32(b[0x08:])),
		freeBlocks:     uint64(le.Uint32(b[0x0C:])),
		freeInodes:     le.Uint32(b[0x10:]),
		firstData:      le.Uint32(b[0x14:]),
		log2Block:      le.Uint32(b[0x18:]),
		log2Cluster:    le.Uint32(b[0x1C:]),
		blocksPerGroup: le.Uint32(b[0x20:]),
		inodesPerGroup: le.Uint32(b[0x28:]),
		magic:          le.Uint16(b[0x38:]),
		revision:       le.Uint32(b[0x4C:]),
		firstInode:     le.Uint32(b[0x54:]),
		inodeSize:      le.Uint16(b[0x58:]),
		compat:         le.Uint32(b[0x5C:]),
		incompat:       incompat(le.Uint32(b[0x60:])),
		roCompat:       le.Uint32(b[0x64:]),
		journalInode:   le.Uint32(b[0xE0:]),
		hashVersion:    b[0xFC],
		descSize:       le.Uint16(b[0xFE:]),
		firstMetaBG:    le.Uint32(b[0x104:]),
		flags:          le.Uint32(b[0x160:]),
		checksumType:   b[0x175],
		overheadBlocks: le.Uint32(b[0x248:]),
		backupGroups:   [2]uint32{le.Uint32(b[0x24C:]), le.Uint32(b[0x250:])},
		checksumSeed:   le.Uint32(b[0x270:]),
		encoding:       le.Uint16(b[0x27C:]),
		encodingFlags:  le.Uint16(b[0x27E:]),
		checksum:       le.Uint32(b[superblockSize-4:]),
	}
	copy(s.uuid[:], b[0x68:])
	for i := range s.hashSeed {
		s.hashSeed[i] = le.Uint32(b[0xEC+4*i:])
	}
	if s.incompat.has(incompat64bit) {
		s.blocks |= uint64(le.Uint32(b[0x150:])) << 32
		s.reserved |= uint64(le.Uint32(b[0x154:])) << 32
		s.freeBlocks |= uint64(le.Uint32(b[0x158:])) << 32
	}
	return s
}

// Sizes of struct ext4_group_desc, in bytes: without and with the upper halves.
const (
	groupDescMin  = 32
	groupDesc64   = 64
	groupChecksum = 0x1E // offset of the checksum
)

// groupDesc is struct ext4_group_desc.
type groupDesc struct {
	inodeTable uint64
	checksum   uint16
}

// decodeGroupDesc takes a descriptor from b, all of it.
func decodeGroupDesc(b []byte) groupDesc {
	g := groupDesc{
		inodeTable: uint64(le.Uint32(b[0x08:])),
		checksum:   le.Uint16(b[groupChecksum:]),
	}
	if len(b) >= groupDesc64 {
		g.inodeTable |= uint64(le.Uint32(b[0x28:])) << 32
	}
	return g
}

// Inode flags, EXT4_*_FL.
const (
	flagEncrypt  = 0x800
	flagIndex    = 0x1000
	flagHugeFile = 0x40000
	flagExtents  = 0x80000
	flagEAInode  = 0x200000
	flagInline   = 0x10000000
	flagCasefold = 0x40000000
)

const (
	inodeMin     = 128 // bytes of an inode without extra fields
	inodeBlock   = 60  // bytes of i_block
	inodeBlockAt = 0x28
)

// inode is struct ext4_inode.
type inode struct {
	ino uint32

	mode           uint16
	links          uint16
	uid, gid       uint32
	sizeLow        uint32
	sizeHigh       uint32
	atime, ctime   time.Time
	mtime, crtime  time.Time // crtime is zero where there is none
	blocks         uint64    // as the flags say: of 512 bytes or of the file system
	flags          uint32
	block          [inodeBlock]byte // extents, pointers, target or data
	generation     uint32
	xattrBlock     uint64
	extra          int    // bytes of fields past inodeMin
	raw            []byte // all of it, which nobody changes
	checksum       uint32
	checksumIsLong bool // has 32 bits, not 16
}

// decodeInode takes an inode from b, all of it. extra is checked afterwards.
func decodeInode(ino uint32, b []byte) *inode {
	in := &inode{
		ino:        ino,
		mode:       le.Uint16(b[0x00:]),
		uid:        uint32(le.Uint16(b[0x02:])) | uint32(le.Uint16(b[0x78:]))<<16,
		sizeLow:    le.Uint32(b[0x04:]),
		gid:        uint32(le.Uint16(b[0x18:])) | uint32(le.Uint16(b[0x7A:]))<<16,
		links:      le.Uint16(b[0x1A:]),
		blocks:     uint64(le.Uint32(b[0x1C:])) | uint64(le.Uint16(b[0x74:]))<<32,
		flags:      le.Uint32(b[0x20:]),
		block:      [inodeBlock]byte(b[inodeBlockAt:]),
		generation: le.Uint32(b[0x64:]),
		xattrBlock: uint64(le.Uint32(b[0x68:])) | uint64(le.Uint16(b[0x76:]))<<32,
		sizeHigh:   le.Uint32(b[0x6C:]),
		checksum:   uint32(le.Uint16(b[0x7C:])),
		raw:        b,
	}
	if len(b) > inodeMin {
		in.extra = int(le.Uint16(b[0x80:]))
	}
	in.atime = in.time(0x08, 0x8C)
	in.ctime = in.time(0x0C, 0x84)
	in.mtime = in.time(0x10, 0x88)
	if in.has(0x90, 4) {
		in.crtime = in.time(0x90, 0x94)
	}
	if in.has(0x82, 2) {
		in.checksum |= uint32(le.Uint16(b[0x82:])) << 16
		in.checksumIsLong = true
	}
	return in
}

// has reports whether the inode has the field of this size at an offset past
// inodeMin.
func (in *inode) has(offset, size int) bool {
	return offset+size <= min(inodeMin+in.extra, len(in.raw))
}

// time returns the time with its seconds at one offset and, if it is there, two
// more bits for them and the nanoseconds at another.
func (in *inode) time(at, extraAt int) time.Time {
	seconds := int64(int32(le.Uint32(in.raw[at:])))
	if !in.has(extraAt, 4) {
		return time.Unix(seconds, 0)
	}
	extra := le.Uint32(in.raw[extraAt:])
	return time.Unix(seconds+int64(extra&3)<<32, int64(extra>>2))
}

const (
	extentMagic      = 0xF30A
	extentSize       = 12 // bytes of header, index and extent alike
	extentDepthMax   = 5
	extentWrittenMax = 32768 // blocks; a longer length means an unwritten extent
)

// extentHeader is struct ext4_extent_header.
type extentHeader struct {
	magic, entries, max, depth uint16
}

func decodeExtentHeader(b []byte) extentHeader {
	return extentHeader{le.Uint16(b[0:]), le.Uint16(b[2:]), le.Uint16(b[4:]), le.Uint16(b[6:])}
}

// extent is struct ext4_extent.
type extent struct {
	logical   uint64
	blocks    uint64
	physical  uint64
	unwritten bool
}

func decodeExtent(b []byte) extent {
	e := extent{
		logical:  uint64(le.Uint32(b[0:])),
		blocks:   uint64(le.Uint16(b[4:])),
		physical: uint64(le.Uint32(b[8:])) | uint64(le.Uint16(b[6:]))<<32,
	}
	if e.blocks > extentWrittenMax {
		e.blocks, e.unwritten = e.blocks-extentWrittenMax, true
	}
	return e
}

// extentIndex is struct ext4_extent_idx.
type extentIndex struct {
	logical uint64
	child   uint64
}

func decodeExtentIndex(b []byte) extentIndex {
	return extentIndex{
		logical: uint64(le.Uint32(b[0:])),
		child:   uint64(le.Uint32(b[4:])) | uint64(le.Uint16(b[8:]))<<32,
	}
}

const (
	dirEntryHeader = 8
	dirHashSize    = 8  // bytes of the hashes behind a name
	dirTailSize    = 12 // bytes of the false entry with the checksum
)

// dirEntry is struct ext4_dir_entry_2, or ext4_dir_entry without the type.
type dirEntry struct {
	ino    uint32
	recLen int
	typ    uint8  // EXT4_FT_*, 0 if not known
	name   []byte // in the block
	hash   uint32 // of casefolded, encrypted directories
	minor  uint32
}

// Xattrs begin with this number, in the inode and in blocks.
const xattrMagic = 0xEA020000

const (
	xattrBlockHeader = 32
	xattrEntryHeader = 16
)

// xattrEntry is struct ext4_xattr_entry.
type xattrEntry struct {
	index       uint8  // of the prefix
	name        []byte // in the block
	valueOffset int
	valueInode  uint32
	valueSize   uint32
}

// decodeXattrEntry takes an entry from b, without its name.
func decodeXattrEntry(b []byte) (e xattrEntry, nameLen int) {
	return xattrEntry{
		index:       b[1],
		valueOffset: int(le.Uint16(b[2:])),
		valueInode:  le.Uint32(b[4:]),
		valueSize:   le.Uint32(b[8:]),
	}, int(b[0])
}
