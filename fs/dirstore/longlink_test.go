package dirstore

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

func symlink(t testing.TB, s *Store, dir store.Node, name, target []byte) (store.Node, store.Attr) {
	t.Helper()
	n, a, err := s.Symlink(dir, name, target, anyOwner, testContext)
	must(t, err)
	return n, a
}

// TestLongLinks makes links around the length up to which they are links of the
// lower file system, and moves them.
func TestLongLinks(t *testing.T) {
	dir := newTree(t)
	s := open(t, dir, Options{})
	root := s.Root()
	sub := mkdir(t, s, root, testName("sub"))
	// A lower target of 4095 bytes holds a nonce of 16 and a target of 3055.
	for _, size := range []int{16, 3055, 3056, 4080, 4095} {
		target := bytes.Repeat([]byte{byte(size)}, size)
		n, a := symlink(t, s, root, testName("link"), target)
		var st unix.Stat_t
		must(t, unix.Lstat(filepath.Join(dir, lower(testName("link"))), &st))
		if long := st.Mode&unix.S_IFMT == unix.S_IFREG; st.Mode&unix.S_IFMT != unix.S_IFLNK && !long || size < 3056 && long || size > 3055 && !long {
			t.Errorf("%d bytes: the lower object has mode %#o", size, st.Mode)
		}
		check := func(when string, s *Store, dir, n store.Node, a store.Attr, name []byte) {
			t.Helper()
			if a.Mode != unix.S_IFLNK|0o777 || a.Size != int64(size) {
				t.Errorf("%d bytes, %s: mode %#o, size %d", size, when, a.Mode, a.Size)
			}
			if got, err := s.Readlink(n); err != nil || !bytes.Equal(got, target) {
				t.Errorf("%d bytes, %s: Readlink: %d bytes, %v", size, when, len(got), err)
			}
			if c, err := s.Context(n); err != nil || !bytes.Equal(c, testContext) {
				t.Errorf("%d bytes, %s: Context: %x, %v", size, when, c, err)
			}
			entries, err := s.ReadDir(dir)
			must(t, err)
			for _, e := range entries {
				if bytes.Equal(e.Name, name) && e.Type != unix.S_IFLNK {
					t.Errorf("%d bytes, %s: listed with type %#o", size, when, e.Type)
				}
			}
		}
		check("new", s, root, n, a, testName("link"))
		must(t, s.Rename(root, testName("link"), sub, longName("moved"), 0))
		a, err := s.Attr(n)
		must(t, err)
		check("moved", s, sub, n, a, longName("moved"))
		a, err = s.Link(n, root, testName("again"))
		must(t, err)
		check("linked", s, root, n, a, testName("again"))
		if _, _, err := s.Symlink(root, testName("again"), target, anyOwner, testContext); !errors.Is(err, unix.EEXIST) {
			t.Errorf("%d bytes: Symlink over it: %v", size, err)
		}
		other := open(t, dir, Options{Shared: true})
		m, a, err := other.Lookup(other.Root(), testName("again"))
		must(t, err)
		check("in another store", other, other.Root(), m, a, testName("again"))
		other.Release(m, 1)
		must(t, other.Close())
		must(t, s.Unlink(sub, longName("moved")))
		must(t, s.Unlink(root, testName("again")))
		s.Release(n, 2)
	}
	must(t, s.Rmdir(root, testName("sub")))
	s.Release(sub, 1)
	if _, _, err := s.Symlink(root, testName("link"), make([]byte, 4096), anyOwner, testContext); !errors.Is(err, unix.ENAMETOOLONG) {
		t.Errorf("Symlink with a target of 4096 bytes: %v", err)
	}
	checkEmpty(t, s)
}

// TestDamagedLongLinks are files of a size as only long links have.
func TestDamagedLongLinks(t *testing.T) {
	whole := append(newHeader(typeLink, testContext, auth)[:], bytes.Repeat([]byte{1}, 8192)...)
	file := append(newHeader(typeFile, testContext, auth)[:], whole[headerSize:]...)
	flipped := bytes.Clone(whole)
	flipped[20] ^= 1
	for _, tt := range []struct {
		name     string
		contents []byte
		size     int
		ok       bool
	}{
		{"the shortest", whole, 4096 + 16, true},
		{"the longest", whole, 4096 + 4095, true},
		{"a target too short", whole, 4096 + 15, false},
		{"the shortest of all", whole, 4097, false},
		{"the header of a file", file, 5000, false},
		{"another header than was made", flipped, 5000, false},
		{"nothing but zeros", make([]byte, 5000), 5000, false},
	} {
		dir := newTree(t)
		s := open(t, dir, Options{})
		must(t, os.WriteFile(filepath.Join(dir, lower(testName("link"))), tt.contents[:tt.size], 0o444))
		n := lookup(t, s, s.Root(), testName("link"))
		_, err := s.Readlink(n)
		var damaged *store.DamagedError
		if ok := err == nil; ok != tt.ok || !ok && (!errors.As(err, &damaged) || damaged.Path != lower(testName("link"))) {
			t.Errorf("%s: Readlink: %v", tt.name, err)
		}
		must(t, s.Unlink(s.Root(), testName("link")))
		s.Release(n, 1)
		must(t, s.Close())
	}
}

// TestCutToLongLink cuts an open file to a size as only long links have: to those
// who know it it stays a file, and a damaged one.
func TestCutToLongLink(t *testing.T) {
	dir := newTree(t)
	s := open(t, dir, Options{Shared: true})
	defer s.Close()
	n, f := create(t, s, s.Root(), testName("file"))
	defer f.Close()
	f.SetContext(testContext)
	_, err := f.WriteUnits(units(4, 1), 0, 4*unitSize)
	must(t, err)
	must(t, os.Truncate(filepath.Join(dir, lower(testName("file"))), 5000))
	m := lookup(t, s, s.Root(), testName("file"))
	if m != n {
		t.Error("it is another node now")
	}
	for _, get := range []func() (store.Attr, error){f.Attr, func() (store.Attr, error) { return s.Attr(n) }} {
		if a, err := get(); err != nil || a.Mode != unix.S_IFREG|0o644 || a.Size != 0 {
			t.Errorf("mode %#o, size %d, %v", a.Mode, a.Size, err)
		}
	}
	var damaged *store.DamagedError
	if err := f.Reload(); !errors.As(err, &damaged) {
		t.Errorf("Reload: %v", err)
	}
	must(t, os.Truncate(filepath.Join(dir, lower(testName("file"))), lowerSize(store.LayoutBlocks, 2*unitSize)))
	must(t, f.Reload())
}
