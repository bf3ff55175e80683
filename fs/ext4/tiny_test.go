package ext4

import (
	"bytes"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// A tiny is an image that tests put together: one group, blocks of 1 KiB, no
// checksums, so that what is put in it is looked at.
type tiny struct {
	b []byte
}

const (
	tinyBlock      = 1024
	tinyInodes     = 64
	tinyInodeSize  = 256
	tinyInodeTable = 5
	tinyData       = 32 // the first block that is free
	tinyObject     = 12 // the inode that the root's entry "object" leads to
)

func newTiny(blocks int) *tiny {
	t := &tiny{make([]byte, blocks*tinyBlock)}
	t.setSuper(func(sb []byte) {
		le.PutUint32(sb[0x00:], tinyInodes)
		le.PutUint32(sb[0x04:], uint32(blocks))
		le.PutUint32(sb[0x14:], 1)
		le.PutUint32(sb[0x20:], 8192)
		le.PutUint32(sb[0x28:], tinyInodes)
		le.PutUint16(sb[0x38:], superMagic)
		le.PutUint32(sb[0x4C:], 1)
		le.PutUint32(sb[0x54:], 11)
		le.PutUint16(sb[0x58:], tinyInodeSize)
		le.PutUint32(sb[0x5C:], compatHasJournal|compatDirIndex)
		le.PutUint32(sb[0x60:], uint32(incompatFiletype|incompatExtents|incompatEncrypt|incompatCasefold|
			incompatInlineData|incompatEAInode|incompatLargeDir))
		le.PutUint32(sb[0xE0:], 8)
	})
	le.PutUint32(t.block(2)[0x08:], tinyInodeTable)
	t.setInode(rootInode, store.ModeDir|0o755, tinyBlock, flagExtents, tinyExtent(0, 1, tinyData))
	t.setDir(tinyData, tinyEntry{rootInode, "."}, tinyEntry{rootInode, ".."}, tinyEntry{tinyObject, "object"})
	t.setInode(tinyObject, store.ModeRegular|0o644, 0, flagExtents, tinyExtent(0, 0, 0))
	return t
}

func (t *tiny) block(nr int) []byte { return t.b[nr*tinyBlock:][:tinyBlock] }

func (t *tiny) setSuper(f func(sb []byte)) { f(t.b[superblockOffset:][:superblockSize]) }

func (t *tiny) inode(ino int) []byte {
	return t.b[tinyInodeTable*tinyBlock+(ino-1)*tinyInodeSize:][:tinyInodeSize]
}

// setInode sets an inode with this i_block.
func (t *tiny) setInode(ino int, mode uint32, size uint64, flags uint32, block []byte) {
	b := t.inode(ino)
	clear(b)
	le.PutUint16(b[0x00:], uint16(mode))
	le.PutUint32(b[0x04:], uint32(size))
	le.PutUint16(b[0x1A:], 1)
	le.PutUint32(b[0x20:], flags)
	copy(b[inodeBlockAt:][:inodeBlock], block)
	le.PutUint32(b[0x6C:], uint32(size>>32))
	le.PutUint16(b[0x80:], 32)
}

// tinyNode returns a node of an extent tree with these entries.
func tinyNode(depth, room int, entries ...[]byte) []byte {
	b := make([]byte, extentSize)
	le.PutUint16(b[0:], extentMagic)
	le.PutUint16(b[2:], uint16(len(entries)))
	le.PutUint16(b[4:], uint16(room))
	le.PutUint16(b[6:], uint16(depth))
	return append(b, bytes.Join(entries, nil)...)
}

// tinyExtent returns a root with one extent, or none if it has no blocks.
func tinyExtent(logical, blocks, physical int) []byte {
	if blocks == 0 {
		return tinyNode(0, 4)
	}
	e := make([]byte, extentSize)
	le.PutUint32(e[0:], uint32(logical))
	le.PutUint16(e[4:], uint16(blocks))
	le.PutUint32(e[8:], uint32(physical))
	return tinyNode(0, 4, e)
}

func tinyIndex(logical, child uint32) []byte {
	e := make([]byte, extentSize)
	le.PutUint32(e[0:], logical)
	le.PutUint32(e[4:], child)
	return e
}

type tinyEntry struct {
	ino  uint32
	name string
}

// setDir fills a block with entries, as many as fit, and returns how many do.
func (t *tiny) setDir(nr int, entries ...tinyEntry) int {
	b := t.block(nr)
	clear(b)
	last := 0
	at := 0
	for i, e := range entries {
		size := (dirEntryHeader + len(e.name) + 3) &^ 3
		if at+size > len(b) {
			entries = entries[:i]
			break
		}
		le.PutUint32(b[at:], e.ino)
		le.PutUint16(b[at+4:], uint16(size))
		b[at+6] = byte(len(e.name))
		copy(b[at+dirEntryHeader:], e.name)
		last, at = at, at+size
	}
	le.PutUint16(b[last+4:], uint16(len(b)-last))
	return len(entries)
}

func (t *tiny) open() (*Store, error) {
	return Open(bytes.NewReader(t.b), int64(len(t.b)), Options{CacheSize: 1 << 20})
}

func (t *tiny) mustOpen(tb testing.TB) *Store {
	tb.Helper()
	s, err := t.open()
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// exercise calls every method on what can be reached from the root, up to a
// number of objects. Errors are no matter.
func exercise(s *Store) {
	s.Statfs()
	seen := map[store.Node]bool{s.Root(): true}
	queue := []store.Node{s.Root()}
	for len(queue) > 0 && len(seen) < 100 {
		n := queue[0]
		queue = queue[1:]
		s.Context(n)
		s.Attr(n)
		s.Readlink(n)
		names, _ := s.ListXattr(n)
		for _, name := range names[:min(len(names), 20)] {
			s.GetXattr(n, name)
		}
		for _, unitSize := range []int{unitSizeMin, s.BlockSize()} {
			if f, err := s.OpenUnits(n, unitSize); err == nil {
				exerciseFile(f, unitSize)
			}
		}
		entries, _ := s.ReadDir(n)
		for i, e := range entries {
			if e.Err != nil || i > 100 {
				continue
			}
			if found, _, err := s.Lookup(n, e.Name); err == nil && !seen[found] {
				seen[found] = true
				queue = append(queue, found)
			}
			s.LookupHash(n, e.Hash, func([]byte) bool { return false })
		}
		s.Lookup(n, []byte("not there"))
	}
}

func exerciseFile(f store.File, unitSize int) {
	buf, holes := make([]byte, 8*unitSize), make([]bool, 8)
	for _, off := range []int64{0, 100 * tinyBlock, f.Size()/2 + 1, f.Size() - 1} {
		f.ReadUnits(buf, uint64(max(off, 0))/uint64(unitSize), holes)
		f.Seek(off, unix.SEEK_DATA)
		f.Seek(off, unix.SEEK_HOLE)
	}
}

// TestTiny makes sure that what other tests build is read as it is meant.
func TestTiny(t *testing.T) {
	img := newTiny(64)
	img.setInode(tinyObject, store.ModeRegular|0o644, 3000, flagExtents, tinyExtent(1, 2, 40))
	copy(img.block(40), "contents")
	s := img.mustOpen(t)
	n, a, err := s.Lookup(s.Root(), []byte("object"))
	if err != nil || a.Size != 3000 {
		t.Fatalf("Lookup: %+v, %v", a, err)
	}
	f, err := s.Open(n, false)
	if err != nil {
		t.Fatal(err)
	}
	buf, holes := make([]byte, 4*tinyBlock), make([]bool, 4)
	if got, err := f.ReadUnits(buf, 0, holes); got != 3*tinyBlock || err != nil {
		t.Fatalf("ReadUnits: %d, %v", got, err)
	}
	if fmt.Sprint(holes[:3]) != "[true false false]" || !bytes.HasPrefix(buf[tinyBlock:], []byte("contents")) {
		t.Errorf("ReadUnits: holes %v, contents %.10q", holes, buf[tinyBlock:])
	}
	exercise(s)
}
