package ext4

import "fmt"

// A replay finds out which blocks of a file system have their present contents
// in the journal.
type replay struct {
	s     *Store
	in    *inode
	super journalSuper
	seed  uint32 // of checksums
	// replayed is what committed transactions have written.
	replayed map[uint64]logged
	// The transaction that is being read: what it writes, where its revoke
	// blocks are in the log, and what is wrong with it, which is no matter if it
	// was never committed.
	writes   []journalWrite
	revokes  []uint32
	damage   error
	lastTime uint64 // of the last commit, in seconds
	data     []byte // a block of data
}

type journalWrite struct {
	block uint64
	to    logged
}

// replayJournal returns the blocks whose present contents are in the log, by
// number. The file system needs recovery.
func (s *Store) replayJournal() (map[uint64]logged, error) {
	if s.sb.compat&compatHasJournal == 0 {
		return nil, damaged(journalName, "it has to be replayed, and there is none")
	}
	if s.sb.journalInode == 0 {
		return nil, &UnsupportedError{"external journal that has to be replayed"}
	}
	in, err := s.inode(s.sb.journalInode)
	if err != nil {
		return nil, err
	}
	r := &replay{s: s, in: in, replayed: map[uint64]logged{}, data: make([]byte, s.dev.blockSize)}
	b, err := r.read(0, make([]byte, s.dev.blockSize))
	if err != nil {
		return nil, err
	}
	if err := r.open(b); err != nil {
		return nil, err
	}
	if r.super.start == 0 {
		return nil, nil
	}
	if r.super.has(journalFastCommit) {
		return nil, &UnsupportedError{"fast_commit journal that has to be replayed"}
	}
	return r.replayed, r.transactions()
}

// open checks the journal's superblock, which is in b.
func (r *replay) open(b []byte) error {
	j := decodeJournalSuper(b)
	r.super = j
	bad := func(format string, args ...any) error { return damaged(journalName, format, args...) }
	switch {
	case j.magic != journalMagic || j.typ != journalSuperV1 && j.typ != journalSuperV2:
		return bad("its superblock has magic number %08x and type %d", j.magic, j.typ)
	case j.incompat&^(journalSupported|journalFastCommit) != 0:
		return &UnsupportedError{fmt.Sprintf("journal incompat bits %#x", j.incompat&^(journalSupported|journalFastCommit))}
	case j.has(journalCsumV2) && j.has(journalCsumV3):
		return bad("it has checksums of two kinds")
	case int(j.blockSize) != r.s.dev.blockSize:
		return bad("blocks of %d bytes", j.blockSize)
	case int64(j.blocks) > r.s.size(r.in)>>r.s.dev.log2:
		return bad("%d blocks in a file of %d bytes", j.blocks, r.s.size(r.in))
	case j.first < 1 || j.first >= j.blocks || j.start != 0 && (j.start < j.first || j.start >= j.blocks):
		return bad("the log is in blocks %d to %d and begins with %d", j.first, j.blocks, j.start)
	}
	if j.hasChecksums() {
		const crc32cType, at = 4, 0xFC
		if j.checksumType != crc32cType {
			return bad("checksums of type %d", j.checksumType)
		}
		sum := crc32c(crc32c(crcStart, b[:at]), []byte{0, 0, 0, 0})
		if sum = crc32c(sum, b[at+4:superblockSize]); sum != j.checksum {
			return bad("checksum of its superblock is %08x, but computes to %08x", j.checksum, sum)
		}
		r.seed = crc32c(crcStart, j.uuid[:])
	}
	return nil
}

// locate returns where a block of the journal is in the file system.
func (r *replay) locate(nr uint32) (uint64, error) {
	m, err := r.s.mapBlock(r.in, uint64(nr))
	if err != nil {
		return 0, err
	}
	if m.isHole() {
		return 0, damaged(journalName, "block %d is a hole", nr)
	}
	return m.physical, nil
}

// read reads a block of the journal to dst, and returns that.
func (r *replay) read(nr uint32, dst []byte) ([]byte, error) {
	physical, err := r.locate(nr)
	if err != nil {
		return nil, err
	}
	return dst, r.s.dev.readImage(dst, int64(physical)<<r.s.dev.log2)
}

// next returns the position in the log after one.
func (r *replay) next(nr uint32) uint32 {
	if nr++; nr == r.super.blocks {
		return r.super.first
	}
	return nr
}

// transactions goes through the log up to its end: a block that is none of the
// journal's own or does not belong to the transaction that it should. A block
// that does and has a wrong checksum is damage, as in the kernel, unless it is
// from before a crash or from an earlier life of the log.
func (r *replay) transactions() error {
	b := make([]byte, r.s.dev.blockSize)
	sequence, at := r.super.sequence, r.super.start
	for left := r.super.blocks - r.super.first; left > 0; left-- {
		if _, err := r.read(at, b); err != nil {
			return err
		}
		if be.Uint32(b) != journalMagic || be.Uint32(b[8:]) != sequence {
			return nil
		}
		switch be.Uint32(b[4:]) {
		case journalDescriptor:
			if !r.tailIsRight(b) {
				return r.brokenDescriptor(at, sequence, left-1)
			}
			count, err := r.descriptor(b, at, sequence, left-1)
			if err != nil {
				return err
			}
			for range count {
				at = r.next(at)
			}
			left -= count
		case journalRevoke:
			r.revokes = append(r.revokes, at)
			if !r.tailIsRight(b) {
				r.fail("block %d, with revoked blocks, has a wrong checksum", at)
			}
		case journalCommit:
			if !r.commitIsRight(b) {
				if r.isOlder(b) {
					return nil
				}
				return damaged(journalName, "block %d, a commit block, has a wrong checksum", at)
			}
			if err := r.commit(b); err != nil {
				return err
			}
			sequence++
		default:
			return nil
		}
		at = r.next(at)
	}
	return nil
}

// brokenDescriptor returns the error for a descriptor block with a wrong checksum:
// nil if the transaction was never committed, as the block may then be half
// written. How much data follows it is not known.
func (r *replay) brokenDescriptor(at, sequence, left uint32) error {
	for broken := at; left > 0; left-- {
		at = r.next(at)
		b, err := r.read(at, r.data)
		if err != nil {
			return err
		}
		if be.Uint32(b) == journalMagic && be.Uint32(b[4:]) == journalCommit && be.Uint32(b[8:]) == sequence && r.commitIsRight(b) {
			return damaged(journalName, "block %d, a descriptor, has a wrong checksum", broken)
		}
	}
	return nil
}

// fail remembers what is wrong with the transaction.
func (r *replay) fail(format string, args ...any) {
	if r.damage == nil {
		r.damage = damaged(journalName, format, args...)
	}
}

// tailIsRight verifies the checksum at the end of a descriptor or revoke block.
func (r *replay) tailIsRight(b []byte) bool {
	if !r.super.hasChecksums() {
		return true
	}
	tail := len(b) - journalTailSize
	return crc32c(crc32c(r.seed, b[:tail]), []byte{0, 0, 0, 0}) == be.Uint32(b[tail:])
}

// commitIsRight verifies the checksum of a commit block, of which only the first
// sector may have been written.
func (r *replay) commitIsRight(b []byte) bool {
	if !r.super.hasChecksums() {
		return true
	}
	const at, end = 16, 60 // of h_chksum, and of the fields
	head := crc32c(crc32c(r.seed, b[:at]), []byte{0, 0, 0, 0})
	head = crc32c(head, b[at+4:end])
	stored := be.Uint32(b[at:])
	return stored == crc32c(head, b[end:]) || stored == crc32c(head, make([]byte, len(b)-end))
}

// isOlder reports whether a commit block is from before the last one, by its
// time.
func (r *replay) isOlder(b []byte) bool {
	return be.Uint64(b[commitTime:]) < r.lastTime
}

// commitTime is the offset of the seconds in a commit block.
const commitTime = 48

// descriptor takes the writes from a descriptor block at a position of the log,
// and returns how many there are. The data follows it, in at most left blocks.
func (r *replay) descriptor(b []byte, at uint32, sequence uint32, left uint32) (count uint32, err error) {
	end := len(b)
	if r.super.hasChecksums() {
		end -= journalTailSize
	}
	for rest := b[journalHeaderSize:end]; count < left; {
		t, size, ok := r.super.decodeTag(rest)
		if !ok {
			break
		}
		count++
		at = r.next(at)
		physical, err := r.locate(at)
		if err != nil {
			return 0, err
		}
		if err := r.checkData(t, physical, sequence); err != nil {
			return 0, err
		}
		if t.block >= r.s.dev.blocks {
			r.fail("it has contents for block %d of %d", t.block, r.s.dev.blocks)
		}
		r.writes = append(r.writes, journalWrite{t.block, logged{physical, t.flags&tagEscaped != 0}})
		if t.flags&tagLast != 0 || size > len(rest) {
			break
		}
		rest = rest[size:]
	}
	return count, nil
}

// checkData verifies the checksum of a block of data in the log.
func (r *replay) checkData(t journalTag, physical uint64, sequence uint32) error {
	if !r.super.hasChecksums() {
		return nil
	}
	if err := r.s.dev.readImage(r.data, int64(physical)<<r.s.dev.log2); err != nil {
		return err
	}
	sum := crc32c(crc32c(r.seed, be.AppendUint32(nil, sequence)), r.data)
	if !r.super.has(journalCsumV3) {
		sum &= 0xFFFF
	}
	if sum != t.checksum {
		r.fail("the contents for block %d have checksum %x, but it computes to %x", t.block, t.checksum, sum)
	}
	return nil
}

// commit ends a transaction. buf is its commit block, and then for reading other
// blocks to. A revoke is for what this and earlier transactions have written.
func (r *replay) commit(buf []byte) error {
	if r.damage != nil {
		return r.damage
	}
	r.lastTime = be.Uint64(buf[commitTime:])
	for _, w := range r.writes {
		r.replayed[w.block] = w.to
	}
	size := 4
	if r.super.has(journal64bit) {
		size = 8
	}
	for _, at := range r.revokes {
		b, err := r.read(at, buf)
		if err != nil {
			return err
		}
		used := int(be.Uint32(b[journalHeaderSize:]))
		if used < journalHeaderSize+4 || used > len(b) {
			return damaged(journalName, "block %d, with revoked blocks, has %d bytes", at, used)
		}
		for b = b[journalHeaderSize+4 : used]; len(b) >= size; b = b[size:] {
			if size == 8 {
				delete(r.replayed, be.Uint64(b))
			} else {
				delete(r.replayed, uint64(be.Uint32(b)))
			}
		}
	}
	r.writes, r.revokes = r.writes[:0], r.revokes[:0]
	return nil
}
