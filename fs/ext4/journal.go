package ext4

import "encoding/binary"

var be = binary.BigEndian // everything in the journal

const journalName = "journal"

const journalMagic = 0xC03B3998

var journalMagicBytes = []byte{0xC0, 0x3B, 0x39, 0x98}

// Types of the journal's own blocks, JBD2_*_BLOCK.
const (
	journalDescriptor = 1
	journalCommit     = 2
	journalSuperV1    = 3
	journalSuperV2    = 4
	journalRevoke     = 5
)

// Features of a journal, JBD2_FEATURE_INCOMPAT_*.
const (
	journalRevokes     = 0x1
	journal64bit       = 0x2
	journalAsyncCommit = 0x4
	journalCsumV2      = 0x8
	journalCsumV3      = 0x10
	journalFastCommit  = 0x20

	journalSupported = journalRevokes | journal64bit | journalAsyncCommit | journalCsumV2 | journalCsumV3
)

// Flags of the tags of a descriptor block, JBD2_FLAG_*.
const (
	tagEscaped  = 1
	tagSameUUID = 2
	tagLast     = 8
)

const (
	journalHeaderSize = 12 // magic number, type and sequence number
	journalUUIDSize   = 16
	journalTailSize   = 4 // checksum at the end of descriptors and revoke blocks
)

// journalSuper is journal_superblock_t, the first block of the journal.
type journalSuper struct {
	magic, typ        uint32
	blockSize, blocks uint32
	first             uint32 // block of the log
	sequence          uint32 // of the first transaction
	start             uint32 // its block; 0 if there is nothing to do
	incompat          uint32
	uuid              [16]byte
	checksumType      uint8
	checksum          uint32
}

func decodeJournalSuper(b []byte) journalSuper {
	j := journalSuper{
		magic:     be.Uint32(b[0x00:]),
		typ:       be.Uint32(b[0x04:]),
		blockSize: be.Uint32(b[0x0C:]),
		blocks:    be.Uint32(b[0x10:]),
		first:     be.Uint32(b[0x14:]),
		sequence:  be.Uint32(b[0x18:]),
		start:     be.Uint32(b[0x1C:]),
	}
	if j.typ == journalSuperV2 {
		j.incompat = be.Uint32(b[0x28:])
		copy(j.uuid[:], b[0x30:])
		j.checksumType = b[0x50]
		j.checksum = be.Uint32(b[0xFC:])
	}
	return j
}

func (j *journalSuper) has(feature uint32) bool { return j.incompat&feature != 0 }

func (j *journalSuper) hasChecksums() bool { return j.has(journalCsumV2 | journalCsumV3) }

// A journalTag is journal_block_tag_t, or journal_block_tag3_t.
type journalTag struct {
	block    uint64 // of the file system
	flags    uint32
	checksum uint32 // of the data; 16 bits with journalCsumV2
}

// decodeTag takes a tag from what is left of a descriptor block, and returns how
// long it is too, with the UUID behind it. It reports whether there is room for
// one.
func (j *journalSuper) decodeTag(b []byte) (t journalTag, size int, ok bool) {
	size = 8
	switch {
	case j.has(journalCsumV3):
		size = 16
	case j.has(journal64bit):
		size = 12
	}
	if j.has(journalCsumV2) {
		size += 2
	}
	if len(b) < size {
		return t, size, false
	}
	t.block = uint64(be.Uint32(b))
	if j.has(journalCsumV3) {
		t.flags = be.Uint32(b[4:])
		t.checksum = be.Uint32(b[12:])
	} else {
		t.checksum = uint32(be.Uint16(b[4:]))
		t.flags = uint32(be.Uint16(b[6:]))
	}
	if j.has(journal64bit) {
		t.block |= uint64(be.Uint32(b[8:])) << 32
	}
	if t.flags&tagSameUUID == 0 {
		size += journalUUIDSize
	}
	return t, size, true
}
