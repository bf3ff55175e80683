package qcow2

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"encfs/fs/ext4/ext4test"
)

func testFile(tb testing.TB, name string) []byte {
	tb.Helper()
	return ext4test.Unpack(tb, filepath.Join("testdata", name+".zst"))
}

func open(b []byte) (*Disk, error) { return Open(bytes.NewReader(b), int64(len(b))) }

// readable are the images in testdata, with what the disk is.
var readable = []struct{ name, disk string }{
	{"v3", "disk"},
	{"v2", "disk"},
	{"clusters-512", "disk"},
	{"clusters-2m", "disk"},
	{"deflate", "disk"},
	{"deflate-4k", "disk"},
	{"zstd", "disk"},
	{"subclusters", "disk"},
	{"subclusters-deflate", "disk"},
	{"v3-written", "written"},
	{"subclusters-written", "written"},
}

// TestRead compares what is read, all at once, in random parts and by several at
// once, with what QEMU says that is there.
func TestRead(t *testing.T) {
	for _, tt := range readable {
		t.Run(tt.name, func(t *testing.T) {
			want := testFile(t, tt.disk+".raw")
			d, err := open(testFile(t, tt.name+".qcow2"))
			if err != nil {
				t.Fatal(err)
			}
			if d.Size() != int64(len(want)) {
				t.Fatalf("size is %d, want %d", d.Size(), len(want))
			}
			got, err := io.ReadAll(io.NewSectionReader(d, 0, d.Size()))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes that differ, or error %v", len(got), err)
			}
			var all sync.WaitGroup
			for seed := range 3 {
				all.Go(func() {
					rng := rand.New(rand.NewPCG(1, uint64(seed)))
					for range 50 {
						off := rng.IntN(len(want))
						b := make([]byte, rng.IntN(100000))
						n, err := d.ReadAt(b, int64(off))
						rest := want[off:]
						if n != min(len(b), len(rest)) || err != nil && (err != io.EOF || n == len(b)) || !bytes.Equal(b[:n], rest[:n]) {
							t.Errorf("ReadAt of %d bytes at %d: %d bytes that differ, or error %v", len(b), off, n, err)
							return
						}
					}
				})
			}
			all.Wait()
		})
	}
}

func TestReadOutside(t *testing.T) {
	d, err := open(testFile(t, "v3.qcow2"))
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 10)
	for _, tt := range []struct {
		off  int64
		n    int
		want bool // an error
	}{
		{-1, 0, true}, {d.Size() - 10, 10, false}, {d.Size() - 9, 9, true}, {d.Size(), 0, true}, {1 << 62, 0, true},
	} {
		if n, err := d.ReadAt(b, tt.off); n != tt.n || (err != nil) != tt.want {
			t.Errorf("ReadAt(10 bytes, %d): %d, %v", tt.off, n, err)
		}
	}
}

func TestRefused(t *testing.T) {
	for name, want := range map[string]string{
		"backing":   `a backing file, "disk.raw"`,
		"data-file": "data in another file",
	} {
		_, err := open(testFile(t, name+".qcow2"))
		if e, ok := errors.AsType[*UnsupportedError](err); !ok || e.Feature != want {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// TestDamaged changes a sound image, and reads all of what can be opened.
func TestDamaged(t *testing.T) {
	put32 := func(off int, v uint32) func([]byte) []byte {
		return func(b []byte) []byte { be.PutUint32(b[off:], v); return b }
	}
	put64 := func(off int, v uint64) func([]byte) []byte {
		return func(b []byte) []byte { be.PutUint64(b[off:], v); return b }
	}
	first := func(b []byte) uint64 { return be.Uint64(b[40:]) }
	second := func(b []byte) uint64 { return be.Uint64(b[first(b):]) & placeMask }
	for _, tt := range []struct {
		name, image string
		change      func(b []byte) []byte
		want        string
	}{
		{"magic", "v3", put32(0, 0), "does not begin with"},
		{"empty", "v3", func([]byte) []byte { return nil }, "does not begin with"},
		{"version", "v3", put32(4, 4), "version 4"},
		{"no cluster size", "v3", put32(20, 0), "clusters of 2^0 bytes"},
		{"huge clusters", "v3", put32(20, 1<<31), "clusters of 2^2147483648 bytes"},
		{"one bit too many", "v3", put32(20, 22), "clusters of 2^22 bytes"},
		{"huge disk", "v3", put64(24, 1<<63), "a disk of 9223372036854775808 bytes"},
		{"large disk in small clusters", "clusters-512", put64(24, 1<<50), "in clusters of 512"},
		{"disk larger than its table", "v3", put64(24, 1<<40), "1 entries in the table of the first level"},
		{"table larger than the file", "v3", func(b []byte) []byte { return put64(24, 1<<50)(put32(36, 1<<30)(b)) }, "behind the end of the file"},
		{"table behind the end", "v3", put64(40, 1<<62), "behind the end of the file"},
		{"encrypted", "v3", put32(32, 2), "encryption"},
		{"unknown feature", "v3", put64(72, 1<<40), "incompatible features 0x10000000000"},
		{"short header", "v3", put32(100, 72), "a header of 72 bytes"},
		{"unknown compression", "zstd", func(b []byte) []byte { b[104] = 2; return b }, "compression type 2"},
		{"second level behind the end", "v3", func(b []byte) []byte { return put64(int(first(b)), 1<<50)(b) }, "behind the end of the file"},
		{"cluster behind the end", "v3", func(b []byte) []byte { return put64(int(second(b)), 1<<50)(b) }, "behind the end of the file"},
		{"part at no place", "subclusters", func(b []byte) []byte { return put64(int(second(b)), 0)(b) }, "a part of a cluster is at no place"},
		{"packed behind the end", "deflate", func(b []byte) []byte { return put64(int(second(b)), entryCompress|1<<40)(b) }, "behind the end of the file"},
		{"damaged deflate", "deflate", func(b []byte) []byte {
			clear(b[be.Uint64(b[second(b):])&0xFFFFFF:][:100])
			return b
		}, "compressed cluster 0"},
		{"damaged zstd", "zstd", func(b []byte) []byte {
			clear(b[be.Uint64(b[second(b):])&0xFFFFFF:][:100])
			return b
		}, "compressed cluster 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := tt.change(testFile(t, tt.image+".qcow2"))
			d, err := open(b)
			if err == nil {
				_, err = io.Copy(io.Discard, io.NewSectionReader(d, 0, d.Size()))
			}
			_, unsupported := errors.AsType[*UnsupportedError](err)
			if err == nil || !unsupported && !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// FuzzImage reads the beginning of the disk, and places that are far apart.
func FuzzImage(f *testing.F) {
	for _, tt := range readable {
		if b := testFile(f, tt.name+".qcow2"); len(b) < 300<<10 {
			f.Add(b)
		}
	}
	// One that is small enough to be changed everywhere: a table of each level and
	// a cluster, of 512 bytes each.
	small := make([]byte, 2048)
	copy(small, Magic)
	be.PutUint32(small[4:], 3)
	be.PutUint32(small[20:], 9)
	be.PutUint64(small[24:], 64*512)
	be.PutUint32(small[36:], 1)
	be.PutUint64(small[40:], 512)
	be.PutUint32(small[100:], headerSizeV3)
	be.PutUint64(small[512:], 1024)
	be.PutUint64(small[1024:], 1536)
	be.PutUint64(small[1032:], entryCompress|1536)
	f.Add(small)
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := open(b)
		if err != nil {
			return
		}
		buf := make([]byte, 8192)
		for k := range int64(8) {
			n, err := d.ReadAt(buf, d.Size()/8*k)
			if n < len(buf) && err == nil {
				t.Fatal("less was read than asked for, without an error")
			}
		}
	})
}
