package dirstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// withLimit calls f while the process cannot write past a lower offset, which
// makes writes short at any byte.
func withLimit(t *testing.T, limit int64, f func()) {
	t.Helper()
	var old unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &old))
	must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(limit), Max: old.Max}))
	defer func() { must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &old)) }()
	f()
}

// contents is what can be read of a file.
type contents struct {
	layout store.Layout
	size   int64
	units  [][]byte // nil is a hole
}

func readAll(t *testing.T, f store.File) contents {
	t.Helper()
	n := int(unitCount(f.Size()))
	buf, holes := make([]byte, n*unitSize), make([]bool, n)
	got, err := f.ReadUnits(buf, 0, holes)
	must(t, err)
	c := contents{layout: f.Layout(), size: f.Size()}
	for i := range n {
		u := buf[i*unitSize : min((i+1)*unitSize, got)]
		if holes[i] {
			u = nil
		}
		c.units = append(c.units, u)
	}
	return c
}

func (c contents) equal(d contents) bool {
	if c.layout != d.layout || c.size != d.size || len(c.units) != len(d.units) {
		return false
	}
	for i := range c.units {
		if !bytes.Equal(c.units[i], d.units[i]) || (c.units[i] == nil) != (d.units[i] == nil) {
			return false
		}
	}
	return true
}

// units returns ciphertext of n data units, all of bytes b.
func units(n int, b byte) []byte { return bytes.Repeat([]byte{b}, n*unitSize) }

// starts are files from which short writes start.
var starts = []struct {
	name string
	make func(t *testing.T, f store.FileWriter)
}{
	{"empty", func(t *testing.T, f store.FileWriter) { f.SetContext(testContext) }},
	{"inline", func(t *testing.T, f store.FileWriter) {
		f.SetContext(testContext)
		must(t, f.WriteInline(units(1, 1)[:112], 100))
	}},
	{"blocks", func(t *testing.T, f store.FileWriter) {
		f.SetContext(testContext)
		_, err := f.WriteUnits(units(2, 1), 0, 8000)
		must(t, err)
	}},
	{"blocks with holes", func(t *testing.T, f store.FileWriter) {
		f.SetContext(testContext)
		_, err := f.WriteUnits(units(1, 1), 2, 3*unitSize)
		must(t, err)
	}},
}

// TestShortWrites stops every kind of write after each of some numbers of
// bytes. The file must be as before, or with the units that were written, and
// must read the same when it is opened again; when it grows, no byte of a
// stopped write may come up.
func TestShortWrites(t *testing.T) {
	signal.Ignore(unix.SIGXFSZ)
	defer signal.Reset(unix.SIGXFSZ)
	const newUnits = 4
	for _, start := range starts {
		for _, write := range []struct {
			name string
			f    func(f store.FileWriter) (int, error) // units written
		}{
			{"inline", func(f store.FileWriter) (int, error) {
				err := f.WriteInline(units(1, 2)[:3008], 3000)
				return 0, err
			}},
			{"units from 0", func(f store.FileWriter) (int, error) {
				return f.WriteUnits(units(newUnits, 2), 0, newUnits*unitSize-100)
			}},
			{"last units", func(f store.FileWriter) (int, error) {
				if f.Layout() == store.LayoutInline {
					return newUnits, nil
				}
				return f.WriteUnits(units(newUnits-1, 2), 1, newUnits*unitSize-100)
			}},
			{"units behind a gap", func(f store.FileWriter) (int, error) {
				if f.Layout() == store.LayoutInline {
					return newUnits, nil
				}
				return f.WriteUnits(units(1, 2), 6, 7*unitSize-1)
			}},
			{"overwrite", func(f store.FileWriter) (int, error) {
				if f.Layout() != store.LayoutBlocks {
					return newUnits, nil
				}
				return f.WriteUnits(units(2, 2), 0, 0)
			}},
			{"truncate", func(f store.FileWriter) (int, error) {
				if f.Layout() == store.LayoutInline {
					return newUnits, nil
				}
				return 0, f.Truncate(30000)
			}},
		} {
			t.Run(start.name+", "+write.name, func(t *testing.T) {
				s := open(t, newTree(t), Options{})
				defer s.Close()
				for _, limit := range []int64{0, 1, 127, 128, 129, 200, 1000, 4095, 4096, 4097, 5000, 8191, 8192,
					8193, 9000, 12288, 12289, 16000, 16384, 20479, 20480, 20481, 21000, 32767, 32768, 33000} {
					n, f := create(t, s, s.Root(), testName("file"))
					start.make(t, f)
					before := readAll(t, f)
					var count int
					var err error
					withLimit(t, limit, func() { count, err = write.f(f) })
					after := readAll(t, f)
					what := fmt.Sprintf("limit %d: %d units, error %v", limit, count, err)
					if err != nil && !errors.Is(err, unix.EFBIG) {
						t.Errorf("%s: want EFBIG", what)
					}
					checkShort(t, what, before, after, count, err)
					must(t, f.Close())
					again, err := s.Open(n, true)
					must(t, err)
					if got := readAll(t, again); !got.equal(after) {
						t.Errorf("%s: size %d in layout %d, when opened again %d in %d", what, after.size, after.layout, got.size, got.layout)
					}
					w := again.(store.FileWriter)
					if w.Layout() == store.LayoutBlocks {
						must(t, w.Truncate(100000))
						grown := readAll(t, w)
						for i := len(after.units); i < len(grown.units); i++ {
							if grown.units[i] != nil {
								t.Errorf("%s: unit %d is no hole after the file has grown", what, i)
							}
						}
					}
					must(t, w.Close())
					must(t, s.Unlink(s.Root(), testName("file")))
					s.Release(n, 1)
				}
			})
		}
	}
}

// checkShort checks what a write that returned count and err has left.
func checkShort(t *testing.T, what string, before, after contents, count int, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if count == 0 && after.layout != store.LayoutBlocks && !after.equal(before) {
		t.Errorf("%s: the file has changed", what)
	}
	if count == 0 && after.size != before.size {
		t.Errorf("%s: size %d, was %d", what, after.size, before.size)
	}
	if after.size < before.size {
		t.Errorf("%s: the file has shrunk from %d to %d", what, before.size, after.size)
	}
	torn, written := 0, 0
	for i, u := range after.units {
		old := []byte(nil)
		if i < len(before.units) {
			old = before.units[i]
		}
		switch {
		case bytes.Equal(u, old), before.layout == store.LayoutInline && i == 0 && count == 0:
		case bytes.Equal(u, units(1, 2)):
			written++
		case old == nil:
			t.Errorf("%s: unit %d was a hole and is torn", what, i)
		default:
			torn++
		}
	}
	if written != count || torn > 1 {
		t.Errorf("%s: %d units are there and %d are torn", what, written, torn)
	}
}

// TestFullFileSystem fills a small file system and frees it again.
func TestFullFileSystem(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting a small tmpfs needs root")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("mounting a small tmpfs: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	tree := filepath.Join(dir, "tree")
	must(t, os.Mkdir(tree, 0o700))
	must(t, Create(tree, testContext, auth))
	s := open(t, tree, Options{})
	defer s.Close()
	n, f := create(t, s, s.Root(), testName("file"))
	f.SetContext(testContext)
	total, count, err := int64(0), 0, error(nil)
	for err == nil {
		count, err = f.WriteUnits(units(16, 3), uint64(total), (total+16)*unitSize-5)
		total += int64(count)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("WriteUnits: %v", err)
	}
	if want := total * unitSize; f.Size() != want && f.Size() != want-5 {
		t.Errorf("%d units were written and the size is %d", total, f.Size())
	}
	for i, u := range readAll(t, f).units {
		if !bytes.Equal(u, units(1, 3)) {
			t.Errorf("unit %d is wrong", i)
		}
	}
	for _, err := range []error{
		func() error { _, err := f.WriteUnits(units(1, 4), uint64(total)+7, (total+8)*unitSize-1); return err }(),
		func() error {
			n, _, g, err := s.Create(s.Root(), testName("other"), 0o600, anyOwner)
			if err != nil {
				return err
			}
			defer s.Release(n, 1)
			defer g.Close()
			g.SetContext(testContext)
			err = g.WriteInline(units(1, 4)[:16], 5)
			if g.Layout() != store.LayoutEmpty || g.Size() != 0 {
				t.Errorf("WriteInline without room leaves %d bytes in layout %d", g.Size(), g.Layout())
			}
			return err
		}(),
		func() error {
			_, _, err := s.Mkdir(s.Root(), longName("directory"), 0o700, anyOwner, testContext)
			return err
		}(),
	} {
		if !errors.Is(err, unix.ENOSPC) {
			t.Errorf("without room: %v", err)
		}
	}
	must(t, f.Close())
	entries, err := os.ReadDir(tree)
	must(t, err)
	if len(entries) != 3 { // the header and two files
		t.Errorf("a failed Mkdir leaves %v", entries)
	}
	must(t, s.Unlink(s.Root(), testName("file")))
	s.Release(n, 1)
	s.Release(mkdir(t, s, s.Root(), longName("directory")), 1)
}
