package dirstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

func TestReadOnly(t *testing.T) {
	dir := newTree(t)
	s := open(t, dir, Options{})
	file, f := create(t, s, s.Root(), testName("file"))
	must(t, f.Close())
	s.Release(file, 1)
	s.Release(mkdir(t, s, s.Root(), testName("directory")), 1)
	must(t, s.Close())

	s = open(t, dir, Options{ReadOnly: true})
	defer s.Close()
	before := listTree(t, dir)
	root, n := s.Root(), lookup(t, s, s.Root(), testName("file"))
	mode := uint32(0)
	_, _, _, createErr := s.Create(root, testName("a"), 0, anyOwner)
	for name, err := range map[string]error{
		"Open":        second(s.Open(n, true)),
		"Create":      createErr,
		"Mkdir":       third(s.Mkdir(root, testName("a"), 0, anyOwner, testContext)),
		"Symlink":     third(s.Symlink(root, testName("a"), make([]byte, 16), anyOwner, testContext)),
		"Mknod":       third(s.Mknod(root, testName("a"), store.ModeFIFO, 0, anyOwner)),
		"Link":        second(s.Link(n, root, testName("a"))),
		"Unlink":      s.Unlink(root, testName("file")),
		"Rmdir":       s.Rmdir(root, testName("directory")),
		"Rename":      s.Rename(root, testName("file"), root, testName("a"), 0),
		"SetAttr":     s.SetAttr(n, store.SetAttr{Mode: &mode}),
		"SetXattr":    s.SetXattr(n, "user.a", nil, 0),
		"RemoveXattr": s.RemoveXattr(n, "user.a"),
	} {
		if !errors.Is(err, unix.EROFS) {
			t.Errorf("%s: got error %v, want EROFS", name, err)
		}
	}
	if after := listTree(t, dir); after != before {
		t.Errorf("the tree has changed from %s to %s", before, after)
	}
	if _, err := s.Open(n, false); err != nil {
		t.Error(err)
	}
	if s.LowerReadOnly() {
		t.Error("LowerReadOnly in a file system that was just written to")
	}
}

func TestNames(t *testing.T) {
	for _, v := range []struct {
		size int
		long bool
	}{{16, false}, {190, false}, {191, false}, {192, true}, {255, true}} {
		name := bytes.Repeat([]byte{0xFB}, v.size)
		l, err := encodeName(name)
		must(t, err)
		if len(l.string) > maxLowerName || (l.raw != nil) != v.long || strings.HasPrefix(l.string, ".") != v.long {
			t.Errorf("%d bytes: %+v", v.size, l)
		}
		if v.long {
			if kindOf(l.string, false) != nameLong || kindOf(l.string+sidecarSuffix, false) != nameSidecar {
				t.Errorf("%d bytes: kind of %s", v.size, l.string)
			}
			continue
		}
		if got, err := decodeName(l.string); err != nil || !bytes.Equal(got, name) {
			t.Errorf("%d bytes: decodeName: %x, error %v", v.size, got, err)
		}
	}
	// SHA-256 of 192 zero bytes, by sha256sum, in base64url.
	if l, _ := encodeName(make([]byte, 192)); l.string != longZeros {
		t.Errorf("192 zero bytes: %s, want %s", l.string, longZeros)
	}
	// "-" and "_" where base64 has "+" and "/".
	if l, _ := encodeName(bytes.Repeat([]byte{0xFB, 0xFF}, 8)); l.string != "-__7__v_-__7__v_-__7_w" {
		t.Errorf("the alphabet: %s", l.string)
	}
}

// TestBookkeeping looks at the lower names after each step: no sidecar is
// missing, and none is left.
func TestBookkeeping(t *testing.T) {
	dir := newTree(t)
	s := open(t, dir, Options{})
	defer s.Close()
	root := s.Root()
	n, f := create(t, s, root, longName("a"))
	must(t, f.Close())
	short, a, b := lower(testName("short")), lower(longName("a")), lower(longName("b"))
	object := func(name string) string { return name + " " + name + sidecarSuffix }
	checkNames(t, dir, "Create", object(a))
	must(t, s.Rename(root, longName("a"), root, testName("short"), 0))
	checkNames(t, dir, "Rename to a short name", short)
	must(t, s.Rename(root, testName("short"), root, longName("b"), 0))
	checkNames(t, dir, "Rename to a long name", object(b))
	must(t, second(s.Link(n, root, longName("a"))))
	checkNames(t, dir, "Link", object(a)+" "+object(b))
	must(t, s.Unlink(root, longName("b")))
	checkNames(t, dir, "Unlink", object(a))
	if err := second(s.Link(n, root, longName("a"))); !errors.Is(err, unix.EEXIST) {
		t.Errorf("Link: %v", err)
	}
	checkNames(t, dir, "Link to itself", object(a))
	if err := s.Rename(root, testName("none"), root, longName("b"), 0); !errors.Is(err, unix.ENOENT) {
		t.Errorf("Rename: %v", err)
	}
	checkNames(t, dir, "Rename of nothing", object(a))
	must(t, s.Unlink(root, longName("a")))
	checkNames(t, dir, "the last Unlink", "")
	if len(s.nodes) != 1 {
		t.Error("an unlinked node is in the table")
	}
	s.Release(n, 2)
	s.Release(mkdir(t, s, root, longName("a")), 1)
	s.Release(mkdir(t, s, root, longName("b")), 1)
	must(t, s.Rename(root, longName("a"), root, longName("b"), 0))
	checkNames(t, dir, "Rename over a directory", b+" "+b+"/"+headerName+" "+b+sidecarSuffix)
	must(t, s.Rmdir(root, longName("b")))
	checkNames(t, dir, "Rmdir", "")
}

// checkNames compares the lower paths in a tree, except its header, with those
// wanted, in any order.
func checkNames(t *testing.T, dir, after, want string) {
	t.Helper()
	got := strings.Fields(listTree(t, dir))
	wanted := append(strings.Fields(want), headerName)
	slices.Sort(got)
	slices.Sort(wanted)
	if !slices.Equal(got, wanted) {
		t.Errorf("after %s:\n got %q\nwant %q", after, got, wanted)
	}
}

// TestLog checks that a message comes once for each path, and that their
// number is bounded.
func TestLog(t *testing.T) {
	log, logged := logTo()
	o := newOnce(log)
	for range 2 {
		for i := range maxSaid + 100 {
			o.warn("message", fmt.Sprint(i))
			o.warn("other message", "0")
		}
	}
	if got := bytes.Count(logged.Bytes(), []byte("\n")); got != maxSaid+1 {
		t.Errorf("%d lines, want %d", got, maxSaid+1)
	}
	if len(o.said) > maxSaid+1 {
		t.Errorf("%d messages are remembered", len(o.said))
	}
}

func TestReadUnitsAllocs(t *testing.T) {
	s := open(t, newTree(t), Options{})
	defer s.Close()
	n, f := create(t, s, s.Root(), testName("file"))
	f.SetContext(testContext)
	_, err := f.WriteUnits(units(8, 1), 0, 8*unitSize)
	must(t, err)
	buf, holes := make([]byte, 8*unitSize), make([]bool, 8)
	if got := testing.AllocsPerRun(100, func() {
		if _, err := f.ReadUnits(buf, 0, holes); err != nil {
			t.Error(err)
		}
	}); got != 0 {
		t.Errorf("ReadUnits allocates %v times", got)
	}
	must(t, f.Close())
	s.Release(n, 1)
}

func TestAllZero(t *testing.T) {
	for _, size := range []int{0, 16, 48, 4096} {
		b := make([]byte, size)
		if !allZero(b) {
			t.Errorf("%d zero bytes are not", size)
		}
		for i := range b {
			b[i] = 1
			if allZero(b) {
				t.Errorf("%d bytes with one at %d are zero", size, i)
			}
			b[i] = 0
		}
	}
}

// TestHiddenXattr checks that the copy of a directory's header is there, and
// neither seen nor changed from above.
func TestHiddenXattr(t *testing.T) {
	dir := newTree(t)
	needXattrs(t, dir)
	s := open(t, dir, Options{})
	defer s.Close()
	n := mkdir(t, s, s.Root(), testName("directory"))
	h := newHeader(typeDir, testContext, auth)
	copied := make([]byte, 200)
	for _, path := range []string{dir, filepath.Join(dir, lower(testName("directory")))} {
		size, err := unix.Getxattr(path, headerXattr, copied)
		if err != nil || !bytes.Equal(copied[:size], h[:]) {
			t.Errorf("the copy is %x, error %v", copied[:max(size, 0)], err)
		}
	}
	if _, err := s.GetXattr(n, headerXattr); !errors.Is(err, unix.ENODATA) {
		t.Errorf("GetXattr: %v", err)
	}
	if list, err := s.ListXattr(n); err != nil || strings.Contains(strings.Join(list, " "), headerXattr) {
		t.Errorf("ListXattr: %q, error %v", list, err)
	}
	if err := s.SetXattr(n, headerXattr, nil, 0); !errors.Is(err, unix.EPERM) {
		t.Errorf("SetXattr: %v", err)
	}
	if err := s.RemoveXattr(n, headerXattr); !errors.Is(err, unix.EPERM) {
		t.Errorf("RemoveXattr: %v", err)
	}
	s.Release(n, 1)
}

// TestDefaultACL makes objects in a directory with a default ACL, which has the
// last word on their permissions.
func TestDefaultACL(t *testing.T) {
	// struct posix_acl_xattr_header and _entry: u::rwx, g::r-x, o::---
	acl := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range [][2]uint16{{0x01, 7}, {0x04, 5}, {0x20, 0}} {
		acl = binary.LittleEndian.AppendUint16(acl, e[0])
		acl = binary.LittleEndian.AppendUint16(acl, e[1])
		acl = binary.LittleEndian.AppendUint32(acl, 0xFFFFFFFF)
	}
	s := open(t, newTree(t), Options{})
	defer s.Close()
	dir := mkdir(t, s, s.Root(), testName("directory"))
	if err := s.SetXattr(dir, "system.posix_acl_default", acl, 0); err != nil {
		t.Skipf("no ACLs here: %v", err)
	}
	n, a, f, err := s.Create(dir, testName("file"), 0o666, anyOwner)
	must(t, err)
	must(t, f.Close())
	if a.Mode&0o7777 != 0o640 {
		t.Errorf("Create with mode 666 makes %o, want 640", a.Mode&0o7777)
	}
	s.Release(n, 1)
	for _, v := range []struct{ mode, want uint32 }{{0o777, 0o750}, {0o077, 0o050}, {0o700, 0o700}} {
		n, a, err := s.Mkdir(dir, testName("sub"), v.mode, anyOwner, testContext)
		must(t, err)
		if a.Mode&0o7777 != v.want {
			t.Errorf("Mkdir with mode %o makes %o, want %o", v.mode, a.Mode&0o7777, v.want)
		}
		must(t, s.Rmdir(dir, testName("sub")))
		s.Release(n, 1)
	}
	s.Release(dir, 1)
}

// TestDescriptors opens many directories with few descriptors.
func TestDescriptors(t *testing.T) {
	s := open(t, newTree(t), Options{MaxDirs: 5})
	defer s.Close()
	var dirs []store.Node
	for i := range 100 {
		d := mkdir(t, s, s.Root(), testName(fmt.Sprint(i)))
		dirs = append(dirs, mkdir(t, s, d, testName("below")))
		s.Release(d, 1)
	}
	for _, d := range dirs {
		_, err := s.ReadDir(d)
		must(t, err)
	}
	if s.openDirs > 5 {
		t.Errorf("%d directories are open", s.openDirs)
	}
	fds, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	if len(fds) > 50 {
		t.Errorf("%d descriptors are open", len(fds))
	}
	for _, d := range dirs {
		s.Release(d, 1)
	}
	if len(s.nodes) != 1 {
		t.Errorf("%d nodes are left", len(s.nodes))
	}
}

// TestPanics is what callers must not do.
func TestPanics(t *testing.T) {
	s := open(t, newTree(t), Options{})
	defer s.Close()
	other := open(t, newTree(t), Options{})
	defer other.Close()
	n, f := create(t, s, s.Root(), testName("file"))
	defer s.Release(n, 1)
	defer f.Close()
	inline, g := create(t, s, s.Root(), testName("inline"))
	defer s.Release(inline, 1)
	defer g.Close()
	g.SetContext(testContext)
	must(t, g.WriteInline(make([]byte, 112), 100))
	for name, f := range map[string]func(){
		"node of another store":            func() { s.Attr(other.Root()) },
		"too many references":              func() { s.Release(n, 2) },
		"WriteInline without context":      func() { f.WriteInline(make([]byte, 16), 1) },
		"WriteUnits without context":       func() { f.WriteUnits(make([]byte, unitSize), 0, 1) },
		"Truncate without context":         func() { f.Truncate(1) },
		"Punch in an empty file":           func() { f.Punch(0, 1) },
		"context of 39 bytes":              func() { f.SetContext(make([]byte, 39)) },
		"second context":                   func() { g.SetContext(testContext) },
		"WriteInline of a wrong length":    func() { g.WriteInline(make([]byte, 111), 111) },
		"WriteInline of too much":          func() { g.WriteInline(make([]byte, 3968), 3953) },
		"WriteInline that shrinks":         func() { g.WriteInline(make([]byte, 112), 99) },
		"Truncate of LayoutInline":         func() { g.Truncate(5) },
		"WriteUnits of part of a unit":     func() { g.WriteUnits(make([]byte, 100), 0, 100) },
		"WriteUnits that leaves inline":    func() { g.WriteUnits(make([]byte, unitSize), 1, 8000) },
		"WriteUnits past the size":         func() { g.WriteUnits(make([]byte, 2*unitSize), 0, 100) },
		"ReadUnits of part of a unit":      func() { g.ReadUnits(make([]byte, 100), 0, make([]bool, 1)) },
		"ReadUnits with too few holes":     func() { g.ReadUnits(make([]byte, 2*unitSize), 0, make([]bool, 1)) },
		"WriteUnits with a size elsewhere": func() { g.WriteUnits(make([]byte, unitSize), 0, 9000) },
	} {
		func() {
			defer func() {
				if r := recover(); r == nil || !strings.HasPrefix(fmt.Sprint(r), "dirstore: ") {
					t.Errorf("%s: recovered %v", name, r)
				}
			}()
			f()
		}()
	}
}

func TestTooLarge(t *testing.T) {
	s := open(t, newTree(t), Options{})
	defer s.Close()
	n, f := create(t, s, s.Root(), testName("file"))
	f.SetContext(testContext)
	_, err := f.WriteUnits(units(1, 1), 0, 10)
	must(t, err)
	for name, err := range map[string]error{
		"Truncate":   f.Truncate(maxSize + 1),
		"WriteUnits": second(f.WriteUnits(units(1, 1), maxSize/unitSize, maxSize+1)),
		"Allocate":   f.Allocate(1<<63, 1),
		"overflow":   f.Allocate(1, 1<<64-1),
	} {
		if !errors.Is(err, unix.EFBIG) {
			t.Errorf("%s: got error %v, want EFBIG", name, err)
		}
	}
	if got := readAll(t, f); got.size != 10 {
		t.Errorf("size %d", got.size)
	}
	must(t, f.Close())
	s.Release(n, 1)
}

const longZeros = ".encfs-long-XYnwVoZQUry4nJENLWKHLgKfsnPD2wP4lopSpBWTwbU"
