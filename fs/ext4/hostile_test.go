package ext4

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"encfs/fs/ext4/ext4test"
	"encfs/fs/store"
)

// A counter counts the reads of an image.
type counter struct {
	image []byte
	reads atomic.Int64
}

func (c *counter) ReadAt(dst []byte, off int64) (int, error) {
	c.reads.Add(1)
	return bytes.NewReader(c.image).ReadAt(dst, off)
}

// openCounted opens a tiny image with a cache of as few blocks as there can be,
// so that the number of reads says how much is looked at.
func openCounted(t *testing.T, img *tiny) (*Store, *counter) {
	t.Helper()
	c := &counter{image: img.b}
	s, err := Open(c, int64(len(img.b)), Options{CacheSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

// TestHostileTrees sees that block maps that stand for more than there can be
// are refused after few reads, as a file and as a directory.
func TestHostileTrees(t *testing.T) {
	const a, b, room = 40, 41, 84
	full := func(depth int, child uint32, step uint32) []byte {
		var entries [][]byte
		for i := range uint32(room) {
			entries = append(entries, tinyIndex(i*step, child))
		}
		return tinyNode(depth, room, entries...)
	}
	for _, tt := range []struct {
		name  string
		flags uint32
		size  uint64
		root  []byte
		a, b  []byte
	}{
		{"node that is its own child", flagExtents, 1 << 40,
			tinyNode(1, 4, tinyIndex(0, a)), tinyNode(1, room, tinyIndex(0, a)), nil},
		{"node below itself, as deep as it says", flagExtents, 1 << 40,
			tinyNode(5, 4, tinyIndex(0, a)), tinyNode(4, room, tinyIndex(0, a)), nil},
		{"two nodes below each other", flagExtents, 1 << 40,
			tinyNode(2, 4, tinyIndex(0, a)), tinyNode(1, room, tinyIndex(0, b)), tinyNode(1, room, tinyIndex(0, a))},
		{"one child behind every index", flagExtents, 1 << 40,
			tinyNode(2, 4, tinyIndex(0, a)), full(1, b, 1<<20), tinyNode(0, room, tinyExtent(0, 1, tinyData)[extentSize:])},
		{"empty child behind every index", flagExtents, 1 << 40,
			tinyNode(2, 4, tinyIndex(0, a)), full(1, b, 1<<20), tinyNode(0, room)},
		{"too deep", flagExtents, 1 << 40, tinyNode(6, 4, tinyIndex(0, a)), tinyNode(5, room, tinyIndex(0, a)), nil},
		{"entries out of order", flagExtents, 1 << 40,
			tinyNode(1, 4, tinyIndex(0, a)), tinyNode(0, room, tinyExtent(9, 1, 50)[extentSize:], tinyExtent(3, 1, 51)[extentSize:]), nil},
		{"extents that overlap", flagExtents, 1 << 40,
			tinyNode(1, 4, tinyIndex(0, a)), tinyNode(0, room, tinyExtent(0, 9, 50)[extentSize:], tinyExtent(3, 1, 51)[extentSize:]), nil},
		{"extent past the end of the image", flagExtents, 1 << 20, tinyExtent(0, 1000, 50), nil, nil},
		{"pointers to the pointers", 0, 1 << 34,
			bytes.Repeat([]byte{a, 0, 0, 0}, 15), bytes.Repeat([]byte{a, 0, 0, 0}, tinyBlock/4), nil},
	} {
		for _, mode := range []uint32{store.ModeRegular, store.ModeDir} {
			t.Run(fmt.Sprintf("%s/%o", tt.name, mode), func(t *testing.T) {
				img := newTiny(128)
				img.setInode(tinyObject, mode|0o700, tt.size, tt.flags, tt.root)
				copy(img.block(a), tt.a)
				copy(img.block(b), tt.b)
				s, c := openCounted(t, img)
				n := node(tinyObject)
				damage := false
				see := func(err error) { damage = damage || isDamage(err) }
				if f, err := s.Open(n, false); err == nil {
					for _, off := range []int64{0, 1 << 20, 1<<34 - 1} {
						_, err := f.ReadUnits(make([]byte, 64*tinyBlock), uint64(off/tinyBlock), make([]bool, 64))
						see(err)
						_, err = f.Seek(off, unix.SEEK_HOLE)
						see(err)
						_, err = f.Seek(off, unix.SEEK_DATA)
						see(err)
					}
				}
				entries, _ := s.ReadDir(n)
				for _, e := range entries {
					see(e.Err)
				}
				if len(entries) > 1000 {
					t.Errorf("a directory of %d entries", len(entries))
				}
				s.Lookup(n, []byte("x"))
				if !damage {
					t.Error("no damage was seen")
				}
				if got := c.reads.Load(); got > 2000 {
					t.Errorf("%d reads", got)
				}
			})
		}
	}
}

// TestLargeDirectory looks up every entry of a large directory without an index.
// Were the directory searched each time, there would be a thousand times as many
// reads.
func TestLargeDirectory(t *testing.T) {
	const entries = 100000
	img := newTiny(8000)
	block, left := tinyData+1, []tinyEntry(nil)
	for i := range entries {
		left = append(left, tinyEntry{tinyObject + 1, fmt.Sprintf("the entry with the number %d", i)})
	}
	for ; len(left) > 0; block++ {
		left = left[img.setDir(block, left...):]
	}
	blocks := block - tinyData - 1
	img.setInode(tinyObject, store.ModeDir|0o700, uint64(blocks*tinyBlock), flagExtents, tinyExtent(0, blocks, tinyData+1))
	img.setInode(tinyObject+1, store.ModeFIFO|0o600, 0, 0, nil)
	s, c := openCounted(t, img)
	listed, err := s.ReadDir(node(tinyObject))
	if err != nil || len(listed) != entries {
		t.Fatalf("ReadDir: %d entries, %v", len(listed), err)
	}
	for _, e := range listed {
		if _, _, err := s.Lookup(node(tinyObject), e.Name); err != nil {
			t.Fatalf("Lookup of %s: %v", e.Name, err)
		}
	}
	if _, _, err := s.Lookup(node(tinyObject), []byte("not there")); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("Lookup of what is not there: %v", err)
	}
	if got := c.reads.Load(); got > 10*entries {
		t.Errorf("%d reads for %d entries in %d blocks", got, entries, blocks)
	}
}

// TestReadAllocations sees that reading data units allocates nothing.
func TestReadAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, name := range []string{"frag-1k", "indirect-1k", "dirty-csum"} {
		b := ext4test.Get(name).Image(t)
		s, err := Open(readerAt(b), int64(len(b)), Options{})
		if err != nil {
			t.Fatal(err)
		}
		largest := &inode{}
		for ino := s.sb.firstInode; ino <= min(s.sb.inodes, 200); ino++ {
			if in, err := s.inode(ino); err == nil && in.isType(store.ModeRegular) && s.size(in) > s.size(largest) {
				largest = in
			}
		}
		f, err := s.Open(node(largest.ino), false)
		if err != nil {
			t.Fatal(err)
		}
		units := int(f.Size()) / s.dev.blockSize
		buf, holes := make([]byte, units*s.dev.blockSize), make([]bool, units)
		if got := testing.AllocsPerRun(10, func() {
			if _, err := f.ReadUnits(buf, 0, holes); err != nil {
				t.Fatal(err)
			}
		}); got != 0 {
			t.Errorf("%s: ReadUnits of %d bytes allocates %v times", name, len(buf), got)
		}
	}
}
