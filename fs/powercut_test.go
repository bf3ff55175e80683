package fs_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/fs/store/storetest"
	"encfs/keys"
)

// TestPowerCut has a cipher directory on a file system of its own, changes files
// in it, may have the journal written by an fsync of something else, and then
// stops the file system as a power cut does: what was not on its way to storage
// is gone. Afterwards every file opens and reads as it was synced, with what came
// after it or zeros where that may be.
func TestPowerCut(t *testing.T) {
	for _, fsType := range storetest.DiskTypes {
		t.Run(fsType, func(t *testing.T) {
			for _, p := range testPolicies {
				if p.contents != p.filenames && p.name != "aes-256-xts" {
					continue // one of narrow blocks is enough, beside Adiantum
				}
				for _, commit := range []bool{true, false} {
					t.Run(fmt.Sprint(p.name, ", journal written ", commit), func(t *testing.T) {
						testPowerCut(t, storetest.NewDisk(t, fsType), p.contents, p.filenames, commit)
					})
				}
			}
		})
	}
}

// A cutCase is a file: what was synced of it, and what was done to it then.
type cutCase struct {
	name   string
	synced int // bytes of pattern 1
	change func(w *cutFile)
	size   int // afterwards
	cut    int // size in between, if it was smaller before it grew
}

type cutFile struct {
	t *testing.T
	v *fs.Volume
	i *fs.Inode
}

func (w *cutFile) write(off, n int) {
	if _, err := w.v.WriteAt(w.i, pattern(off+n, 2)[off:], int64(off)); err != nil {
		w.t.Error(err)
	}
}

func (w *cutFile) truncate(size int) {
	if err := w.v.Truncate(w.i, int64(size)); err != nil {
		w.t.Error(err)
	}
}

func cutCases() []cutCase {
	var cases []cutCase
	for _, n := range []int{100, 3952, 3953, 4096, 5000, 40000} {
		cases = append(cases,
			cutCase{fmt.Sprint("new file of ", n), 0, func(w *cutFile) { w.write(0, n) }, n, 0},
			cutCase{fmt.Sprint("new file in two writes of ", n), 0, func(w *cutFile) { w.write(0, n/2); w.write(n/2, n-n/2) }, n, 0},
			cutCase{fmt.Sprint("new file, truncated up to ", n), 0, func(w *cutFile) { w.truncate(n) }, n, 0},
			cutCase{fmt.Sprint("new file, written and truncated up to ", n+9000), 0, func(w *cutFile) { w.write(0, n); w.truncate(n + 9000) }, n + 9000, 0},
			cutCase{fmt.Sprint("new file, written and truncated down to ", n), 0, func(w *cutFile) { w.write(0, n+9000); w.truncate(n) }, n, 0},
			cutCase{fmt.Sprint("new file with a hole before ", n), 0, func(w *cutFile) { w.write(n+20000, 10) }, n + 20010, 0},
		)
		for _, synced := range []int{1, 3000, 4095, 12305} {
			cases = append(cases,
				cutCase{fmt.Sprintf("%d appended to %d", n, synced), synced, func(w *cutFile) { w.write(synced, n) }, synced + n, 0},
				cutCase{fmt.Sprintf("%d truncated to %d", synced, n), synced, func(w *cutFile) { w.truncate(n) }, n, 0},
				cutCase{fmt.Sprintf("%d truncated to 0 and %d written", synced, n), synced, func(w *cutFile) { w.truncate(0); w.write(0, n) }, n, 0},
				cutCase{fmt.Sprintf("%d truncated to %d and to %d", synced, n, n+3000), synced, func(w *cutFile) { w.truncate(n); w.truncate(n + 3000) }, n + 3000, n},
				cutCase{fmt.Sprintf("%d truncated to %d, 500 appended", synced, n), synced, func(w *cutFile) { w.truncate(n); w.write(n, 500) }, n + 500, n},
			)
		}
	}
	return cases
}

func testPowerCut(t *testing.T, disk *storetest.Disk, contentsMode, namesMode keys.Mode, commit bool) {
	tree := filepath.Join(disk.Root, "tree")
	if err := os.Mkdir(tree, 0o700); err != nil {
		t.Fatal(err)
	}
	newTreeAt(t, tree, contentsMode, namesMode)
	v, done := openTree(t, tree, fs.Options{}, dirstore.Options{})
	cases := cutCases()
	var files []*fs.Inode
	for k, c := range cases {
		i := create(t, v, fmt.Sprint("f", k), pattern(c.synced, 1))
		if err := v.Sync(i, false); err != nil {
			t.Fatal(err)
		}
		files = append(files, i)
	}
	if err := v.SyncDir(v.Root()); err != nil {
		t.Fatal(err)
	}
	disk.Sync()
	// Those that sync something by themselves take the journal of all before with
	// them, so that the others come last.
	for _, last := range []bool{false, true} {
		for k, c := range cases {
			if last == (c.cut == 0 && c.size > 3952 && c.size < c.synced) {
				c.change(&cutFile{t, v, files[k]})
			}
		}
	}
	for k := range 50 {
		i, _, err := v.Mkdir(v.Root(), fmt.Sprint("d", k), 0o755, fs.AnyOwner)
		if err != nil {
			t.Fatal(err)
		}
		v.Release(i, 1)
	}
	// Somebody syncs something else, which takes the journal with it.
	other, err := os.Create(filepath.Join(disk.Root, "other"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(other, "x")
	if commit {
		if err := other.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	disk.Cut()
	other.Close()
	for _, i := range files {
		v.CloseFile(i)
		v.Release(i, 1)
	}
	done()
	disk.Restore()

	v, done = openTree(t, tree, fs.Options{}, dirstore.Options{})
	defer done()
	for k, c := range cases {
		i, a, err := v.Lookup(v.Root(), fmt.Sprint("f", k))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var b bytes.Buffer
		if err := v.ReadFile(i, &b); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		got, first, second := b.Bytes(), pattern(c.synced, 1), pattern(c.size, 2)
		if int64(len(got)) != a.Size || len(got) > max(c.synced, (c.size+4095)/4096*4096) {
			t.Errorf("%s: %d bytes, after %d, size %d", c.name, len(got), c.synced, a.Size)
		}
		for at, x := range got {
			if c.cut > 0 && len(got) == c.size && c.size != c.synced && at >= c.cut && x != 0 && x != second[at] {
				t.Errorf("%s: byte %d is back, %#x", c.name, at, x)
				break
			}
			if x != 0 && (at >= len(first) || x != first[at]) && (at >= len(second) || x != second[at]) {
				t.Errorf("%s: byte %d of %d is %#x, which was never there", c.name, at, len(got), x)
				break
			}
		}
		if strings.Contains(c.name, "appended to") && !bytes.HasPrefix(got, first) {
			t.Errorf("%s: what was synced is not there", c.name)
		}
		v.Release(i, 1)
	}
	for k := range 50 {
		i, _, err := v.Lookup(v.Root(), fmt.Sprint("d", k))
		if fs.Errno(err) == unix.ENOENT {
			continue
		}
		if err == nil {
			_, err = v.ReadDir(i)
			v.Release(i, 1)
		}
		if err != nil {
			t.Errorf("directory d%d is neither whole nor absent: %v", k, err)
		}
	}
}
