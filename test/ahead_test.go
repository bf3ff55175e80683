package test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A forest is a tree of directories with files of which the tests know the contents.
type forest struct {
	*tree
	dirs, files int
}

func newForest(t *testing.T, dirs, files int) *forest {
	t.Helper()
	f := &forest{mountedTree(t), dirs, files}
	for d := range dirs {
		if err := os.MkdirAll(f.path(f.dir(d)), 0o755); err != nil {
			t.Fatal(err)
		}
		for k := range files {
			f.plant(f.name(d, k), f.want(d, k, 0))
		}
	}
	return f
}

func (f *forest) dir(d int) string { return fmt.Sprintf("top/sub%d/dir%d", d%3, d) }

func (f *forest) name(d, k int) string { return filepath.Join(f.dir(d), fmt.Sprint("file", k)) }

// want returns the contents of a file after so many changes.
func (f *forest) want(d, k, changes int) []byte {
	size := edges[(d*f.files+k)%len(edges)]
	if changes > 0 && size < 100 {
		size += 100
	}
	return pattern(size, byte(d+k+changes))
}

// scan reads the forest as a program does that is recognised to read ahead for.
func (f *forest) scan() error {
	cmd := exec.Command("/bin/sh", "-c", `tar cf - top | cat >/dev/null`)
	cmd.Dir = f.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("tar: %w\n%s", err, out)
	}
	return nil
}

// check compares each file with what it should be after so many changes, as the
// kernel has it cached.
func (f *forest) check(changes func(d, k int) int) {
	f.t.Helper()
	for d := range f.dirs {
		for k := range f.files {
			wantFile(f.t, f.path(f.name(d, k)), f.want(d, k, changes(d, k)))
		}
	}
}

// TestStoreAhead: what is read ahead is right, and comes without a READ.
func TestStoreAhead(t *testing.T) {
	needTool(t, "tar")
	f := newForest(t, 30, 20)
	f.remount()
	if err := f.scan(); err != nil {
		t.Fatal(err)
	}
	c := f.counters()
	if c.FilesStored < f.dirs*f.files/2 {
		t.Errorf("%d of %d files were read ahead; requests: %v", c.FilesStored, f.dirs*f.files, c.Requests)
	}
	f.check(func(d, k int) int { return 0 })
	if after := f.counters(); after.Requests["READ"] != c.Requests["READ"] {
		t.Errorf("%d more READ of what was read before", after.Requests["READ"]-c.Requests["READ"])
	}
}

// TestNoStoreAhead: nothing is read for those who do not read.
func TestNoStoreAhead(t *testing.T) {
	f := newForest(t, 30, 10)
	for _, tt := range []struct{ name, command string }{
		{"find", "find top"},
		{"ls", "ls -lR top"},
		{"du", "du -s top"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f.remount()
			cmd := exec.Command("/bin/sh", "-c", tt.command)
			cmd.Dir = f.root
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if c := f.counters(); c.FilesStored > 0 {
				t.Errorf("%d files were read ahead", c.FilesStored)
			}
		})
	}
}

// TestStoreAheadRaces changes files in every way while programs scan them: whoever
// has changed a file reads what he has written, at once and in the end.
func TestStoreAheadRaces(t *testing.T) {
	needTool(t, "tar")
	const changers = 3
	f := newForest(t, 150, 6)
	stored := 0
	changes := make([][]int, f.dirs)
	for d := range changes {
		changes[d] = make([]int, f.files)
	}
	for round := range 4 {
		f.remount()
		var scans, all sync.WaitGroup
		over := make(chan struct{})
		for range 2 {
			scans.Go(func() { f.scan() }) // which fails, of course: files change as it reads them
		}
		for c := range changers {
			all.Go(func() {
				r := rand.New(rand.NewPCG(uint64(round), uint64(c)))
				for {
					select {
					case <-over:
						return
					default:
					}
					d, k := r.IntN(f.dirs), c+changers*r.IntN(f.files/changers)
					n := changes[d][k]
					changes[d][k] = n + 1
					old, data, way := f.want(d, k, n), f.want(d, k, n+1), r.IntN(len(waysToChange))
					if err := waysToChange[way](f.path(f.name(d, k)), old, data); err != nil {
						t.Errorf("way %d to change %s: %v", way, f.name(d, k), err)
						return
					}
				}
			})
		}
		scans.Wait()
		close(over)
		all.Wait()
		stored += f.counters().FilesStored
		f.check(func(d, k int) int { return changes[d][k] })
		if t.Failed() {
			return
		}
	}
	t.Logf("%d files were read ahead", stored) // fewer, the earlier others are in the directories
	f.remount("--without", "store-ahead")
	f.check(func(d, k int) int { return changes[d][k] })
}

// waysToChange are ways to change a file from old contents to new ones of the same
// size or larger, each of which reads them again.
var waysToChange = []func(path string, old, data []byte) error{
	func(path string, _, data []byte) error { // as a shell does
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
		return compare(path, data)
	},
	func(path string, _, data []byte) error { // in place, and a bit at a time
		g, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer g.Close()
		for off := 0; off < len(data); off += 3000 {
			if _, err := g.WriteAt(data[off:min(off+3000, len(data))], int64(off)); err != nil {
				return err
			}
		}
		return compare(path, data)
	},
	func(path string, _, data []byte) error { // by a mapping
		g, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer g.Close()
		if err := g.Truncate(int64(len(data))); err != nil {
			return err
		}
		m, err := unix.Mmap(int(g.Fd()), 0, len(data), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return err
		}
		copy(m, data)
		time.Sleep(time.Millisecond) // for what may still come to come
		if err := errors.Join(compare(path, data), unix.Munmap(m)); err != nil {
			return err
		}
		return g.Sync()
	},
	func(path string, _, data []byte) error { // as an editor does
		other := path + ".new"
		if err := os.WriteFile(other, data, 0o644); err != nil {
			return err
		}
		if err := os.Rename(other, path); err != nil {
			return err
		}
		return compare(path, data)
	},
	func(path string, old, data []byte) error { // by another name, and cut by its name
		other := path + ".link"
		if err := os.Link(path, other); err != nil {
			return err
		}
		defer os.Remove(other)
		if err := compare(other, old); err != nil {
			return err
		}
		if err := os.Truncate(other, 0); err != nil {
			return err
		}
		if err := compare(path, nil); err != nil {
			return err
		}
		if err := os.WriteFile(other, data, 0o644); err != nil {
			return err
		}
		return compare(path, data)
	},
	func(path string, old, data []byte) error { // while one has it open without a name
		g, err := os.Open(path)
		if err != nil {
			return err
		}
		defer g.Close()
		if err := os.Remove(path); err != nil {
			return err
		}
		if got, err := io.ReadAll(g); err != nil || string(got) != string(old) {
			return fmt.Errorf("what has no name any more has %d bytes, not %d, or others: %v", len(got), len(old), err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
		return compare(path, data)
	},
}

// compare reads a file and compares it.
func compare(path string, want []byte) error {
	got, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for i := range got {
		if i == len(want) || got[i] != want[i] {
			return fmt.Errorf("%s: %d bytes, want %d, and other ones from %d on", path, len(got), len(want), i)
		}
	}
	if len(got) < len(want) {
		return fmt.Errorf("%s: %d bytes, want %d", path, len(got), len(want))
	}
	return nil
}
