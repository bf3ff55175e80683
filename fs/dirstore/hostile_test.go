package dirstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// Somebody else changes the tree between two calls, or during one.

// TestSwapped puts something else where an object was. No call may act on it.
func TestSwapped(t *testing.T) {
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, headerName), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(outside, "file"), []byte("untouched"), 0o600))
	for _, v := range []struct {
		name string
		make func(t *testing.T, path string)
	}{
		{"nothing", func(t *testing.T, path string) {}},
		{"symlink to a directory", func(t *testing.T, path string) { must(t, os.Symlink(outside, path)) }},
		{"symlink to a file", func(t *testing.T, path string) { must(t, os.Symlink(outside+"/file", path)) }},
		{"fifo", func(t *testing.T, path string) { must(t, unix.Mkfifo(path, 0o600)) }},
		{"socket", func(t *testing.T, path string) { must(t, unix.Mknod(path, unix.S_IFSOCK|0o600, 0)) }},
		{"directory", func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) }},
		{"file", func(t *testing.T, path string) { must(t, os.WriteFile(path, make([]byte, 300), 0o600)) }},
	} {
		t.Run(v.name, func(t *testing.T) {
			dir := newTree(t)
			s := open(t, dir, Options{Shared: true, MaxDirs: 1})
			defer s.Close()
			top := mkdir(t, s, s.Root(), testName("top"))
			sub := mkdir(t, s, top, testName("directory"))
			file, f := create(t, s, top, testName("file"))
			must(t, f.Close())
			for _, name := range []string{"directory", "file"} {
				path := filepath.Join(dir, lower(testName("top")), lower(testName(name)))
				must(t, os.Rename(path, filepath.Join(dir, "."+name))) // it lives on elsewhere
				v.make(t, path)
			}
			// Push the descriptor of the directory out.
			other := mkdir(t, s, s.Root(), testName("other"))
			_, err := s.ReadDir(other)
			must(t, err)
			_, err = s.ReadDir(s.Root())
			must(t, err)

			mode, uid := uint32(0o777), uint32(os.Geteuid())
			for name, err := range map[string]error{
				"Open":                second(s.Open(file, false)),
				"Open for writing":    second(s.Open(file, true)),
				"Attr":                second(s.Attr(file)),
				"Attr of a directory": second(s.Attr(sub)),
				"ReadDir":             second(s.ReadDir(sub)),
				"SetAttr":             s.SetAttr(file, store.SetAttr{Mode: &mode, UID: &uid}),
				"SetAttr, directory":  s.SetAttr(sub, store.SetAttr{Mode: &mode}),
				"SetXattr":            s.SetXattr(sub, "user.test", nil, 0),
				"Unlink":              s.Unlink(sub, testName("file")),
				"Mknod":               third(s.Mknod(sub, testName("fifo"), store.ModeFIFO|0o600, 0, anyOwner)),
				"Link":                second(s.Link(file, top, testName("link"))),
				"Rename":              s.Rename(sub, testName("a"), top, testName("b"), 0),
			} {
				if !errors.Is(err, unix.ESTALE) {
					t.Errorf("%s: got error %v, want ESTALE", name, err)
				}
			}
			if b, err := os.ReadFile(filepath.Join(outside, "file")); err != nil || string(b) != "untouched" {
				t.Errorf("outside: %q, error %v", b, err)
			}
			if got := listTree(t, outside); got != headerName+" file" {
				t.Errorf("outside: %s", got)
			}
			for _, n := range []store.Node{top, sub, file, other} {
				s.Release(n, 1)
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

func third[T, U any](_ T, _ U, err error) error { return err }

// TestSwapLoop swaps a directory for a symbolic link to one outside, over and
// over, while everything is done in it. Nothing outside is touched.
func TestSwapLoop(t *testing.T) {
	dir, outside := newTree(t), t.TempDir()
	h := newHeader(typeDir, testContext, auth)
	must(t, os.WriteFile(filepath.Join(outside, headerName), h[:], 0o444))
	must(t, os.WriteFile(filepath.Join(outside, lower(testName("precious"))), nil, 0o600))
	must(t, os.Mkdir(filepath.Join(outside, lower(testName("sub"))), 0o700))
	before := listTree(t, outside)

	s := open(t, dir, Options{Shared: true, MaxDirs: 1})
	defer s.Close()
	s.Release(mkdir(t, s, s.Root(), testName("victim")), 1)
	s.Release(mkdir(t, s, s.Root(), testName("other")), 1)
	path, spare := filepath.Join(dir, lower(testName("victim"))), filepath.Join(dir, ".spare")
	must(t, os.Symlink(outside, spare))

	var stop atomic.Bool
	done := make(chan int)
	go func() {
		n := 0
		for ; !stop.Load(); n++ {
			unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, spare, unix.RENAME_EXCHANGE)
		}
		done <- n
	}()
	entered := 0
	for range 2000 {
		d, a, err := s.Lookup(s.Root(), testName("victim"))
		if err != nil {
			t.Errorf("Lookup: %v", err)
			continue
		}
		if a.Mode&store.ModeType == store.ModeDir {
			if n, _, f, err := s.Create(d, testName("made"), 0o600, anyOwner); err == nil {
				entered++
				f.Close()
				s.Release(n, 1)
			}
			if n, _, err := s.Mkdir(d, testName("directory"), 0o700, anyOwner, testContext); err == nil {
				s.Release(n, 1)
			}
			s.Unlink(d, testName("precious"))
			s.Unlink(d, testName("made"))
			s.Rmdir(d, testName("sub"))
			s.Rmdir(d, testName("directory"))
			s.Context(d)
		}
		s.Release(d, 1)
		// Use another directory, so that the first has to be opened again.
		o := lookup(t, s, s.Root(), testName("other"))
		s.ReadDir(o)
		s.Release(o, 1)
	}
	stop.Store(true)
	swaps := <-done
	if got := listTree(t, outside); got != before {
		t.Errorf("outside: %s, was %s", got, before)
	}
	if entered == 0 || swaps == 0 {
		t.Errorf("the directory was entered %d times in %d swaps", entered, swaps)
	}
}

// TestForeign is a tree with things in it that are not ours.
func TestForeign(t *testing.T) {
	dir := newTree(t)
	log, logged := logTo()
	s := open(t, dir, Options{Log: log})
	defer s.Close()
	s.Release(mkdir(t, s, s.Root(), testName("good")), 1)
	for _, name := range []string{
		".hidden", ".encfs-other", ".encfs-long-short", ".stfolder",
		"plain", "AAAA", "with space", "AAAAAAAAAAAAAAAAAAAAAB", strings.Repeat("A", 21), strings.Repeat("A", 253),
		"AAAAAAAAAAA\nAAAAAAAAAAA", lower(testName("good")) + "=",
		longPrefix + strings.Repeat("A", longHashLen),
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	must(t, os.Mkdir(filepath.Join(dir, metadataName), 0o700))
	for range 2 {
		entries, err := s.ReadDir(s.Root())
		must(t, err)
		good, bad := 0, 0
		for _, e := range entries {
			switch {
			case e.Err == nil && string(e.Name) == string(testName("good")):
				good++
			case e.Err != nil && e.Name == nil && (e.Lower[0] != '.' || strings.HasPrefix(e.Lower, longPrefix)):
				bad++
			default:
				t.Errorf("ReadDir: %+v", e)
			}
		}
		if good != 1 || bad != 9 {
			t.Errorf("ReadDir: %d good entries and %d bad ones", good, bad)
		}
	}
	for name, want := range map[string]int{".hidden": 1, ".stfolder": 1, "with space": 1, metadataName: 0, headerName: 0} {
		if got := strings.Count(logged.String(), "path="+name+"\n") + strings.Count(logged.String(), "path="+name+" ") +
			strings.Count(logged.String(), "path=\""+name+"\""); got != want {
			t.Errorf("%s is logged %d times, want %d:\n%s", name, got, want, logged)
		}
	}
	if _, _, err := s.Lookup(s.Root(), make([]byte, 15)); !errors.Is(err, unix.EINVAL) {
		t.Errorf("Lookup of a name of 15 bytes: %v", err)
	}
}

// TestDamagedFiles are lower files that no write can have made.
func TestDamagedFiles(t *testing.T) {
	for _, size := range []int64{1, 127, 129, 143} {
		dir := newTree(t)
		s := open(t, dir, Options{})
		path := filepath.Join(dir, lower(testName("file")))
		h := newHeader(typeFile, testContext, auth)
		must(t, os.WriteFile(path, h[:], 0o600))
		must(t, os.Truncate(path, size))
		n := lookup(t, s, s.Root(), testName("file"))
		if a, err := s.Attr(n); err != nil || a.Size != 0 {
			t.Errorf("%d bytes: Attr says size %d, error %v", size, a.Size, err)
		}
		for _, write := range []bool{false, true} {
			_, err := s.Open(n, write)
			var damaged *store.DamagedError
			if !errors.As(err, &damaged) || damaged.Path != lower(testName("file")) {
				t.Errorf("%d bytes: Open: %v", size, err)
			}
		}
		must(t, s.Unlink(s.Root(), testName("file")))
		s.Release(n, 1)
		must(t, s.Close())
	}
}

// TestTruncatedBehind cuts a file that is open.
func TestTruncatedBehind(t *testing.T) {
	dir := newTree(t)
	s := open(t, dir, Options{Shared: true})
	defer s.Close()
	n, f := create(t, s, s.Root(), testName("file"))
	f.SetContext(testContext)
	_, err := f.WriteUnits(units(4, 1), 0, 4*unitSize)
	must(t, err)
	must(t, os.Truncate(filepath.Join(dir, lower(testName("file"))), lowerSize(store.LayoutBlocks, 2*unitSize)))
	if _, err := f.ReadUnits(make([]byte, 4*unitSize), 0, make([]bool, 4)); err == nil {
		t.Error("ReadUnits of a file that others have cut succeeds")
	}
	if a, err := s.Attr(n); err != nil || a.Size != 2*unitSize {
		t.Errorf("Attr: size %d, error %v", a.Size, err)
	}
	must(t, f.Reload())
	if got := readAll(t, f); got.size != 2*unitSize {
		t.Errorf("after Reload: size %d", got.size)
	}
	must(t, f.Close())
	s.Release(n, 1)
}

// TestMovedByOthers moves directories around so that what is remembered of them
// would be a circle.
func TestMovedByOthers(t *testing.T) {
	dir := newTree(t)
	s := open(t, dir, Options{Shared: true, MaxDirs: 4})
	a := mkdir(t, s, s.Root(), testName("a"))
	b := mkdir(t, s, a, testName("b"))
	pa, pb := filepath.Join(dir, lower(testName("a"))), filepath.Join(dir, lower(testName("a")), lower(testName("b")))
	must(t, os.Rename(pb, filepath.Join(dir, lower(testName("b")))))
	must(t, os.Rename(pa, filepath.Join(dir, lower(testName("b")), lower(testName("a")))))
	// b is found below the root only later; its descriptor is still open.
	if n := lookup(t, s, b, testName("a")); n != a {
		t.Errorf("Lookup leads to %v", n)
	}
	s.Release(a, 1)
	s.ReadDir(a)
	s.ReadDir(b)
	_ = a.String() + b.String()
	if n := lookup(t, s, s.Root(), testName("b")); n != b {
		t.Errorf("Lookup leads to %v", n)
	}
	if n := lookup(t, s, b, testName("a")); n != a {
		t.Errorf("Lookup leads to %v", n)
	}
	if _, err := s.ReadDir(a); err != nil {
		t.Errorf("ReadDir: %v", err)
	}
	for _, n := range []store.Node{a, b} {
		if got := len(n.(*node).locations); got != 1 {
			t.Errorf("%v has %d locations", n, got)
		}
	}
	s.Release(a, 2)
	s.Release(b, 2)
	must(t, s.Close())
	checkEmpty(t, s)
}

// TestRmdirRace makes files in directories, by a descriptor as another process
// may have it, while they are removed. Each directory is gone in the end, or
// where it was, with its header and what is in it.
func TestRmdirRace(t *testing.T) {
	dir := newTree(t)
	s := open(t, dir, Options{Shared: true})
	defer s.Close()
	path := filepath.Join(dir, lower(testName("directory")))
	removed := 0
	for range 300 {
		n := mkdir(t, s, s.Root(), testName("directory"))
		fd, err := unix.Open(path, unix.O_PATH, 0)
		must(t, err)
		made := make(chan bool)
		go func() {
			f, err := unix.Openat(fd, lower(testName("file")), unix.O_CREAT|unix.O_WRONLY, 0o600)
			if err == nil {
				unix.Close(f)
			}
			made <- err == nil
		}()
		err = s.Rmdir(s.Root(), testName("directory"))
		filled := <-made
		unix.Close(fd)
		switch {
		case err == nil && filled, err != nil && !errors.Is(err, unix.ENOTEMPTY):
			t.Fatalf("Rmdir: %v, the file was made: %v", err, filled)
		case err == nil:
			removed++
			if got := listTree(t, dir); got != headerName {
				t.Fatalf("left: %s", got)
			}
		default:
			if got := listTree(t, path); got != headerName+" "+lower(testName("file")) {
				t.Fatalf("left: %s", got)
			}
			must(t, s.Unlink(n, testName("file")))
			must(t, s.Rmdir(s.Root(), testName("directory")))
		}
		s.Release(n, 1)
	}
	t.Logf("%d of 300 were removed", removed)
}
