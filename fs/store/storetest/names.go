package storetest

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

func testCreate(t *tree) {
	n, a, f, err := t.w.Create(t.root(), name("file"), 0o640, anyOwner)
	t.noError("Create", err)
	if a.Mode != store.ModeRegular|0o640 || a.Nlink != 1 || a.Size != 0 {
		t.Errorf("Create: %+v", a)
	}
	if int(a.UID) != os.Geteuid() {
		t.Errorf("Create: owner %d", a.UID)
	}
	if since := time.Since(a.Mtime); since < -time.Minute || since > time.Hour {
		t.Errorf("Create: modified %v ago", since)
	}
	if f.Layout() != store.LayoutEmpty || f.Size() != 0 || f.Context() != nil {
		t.Errorf("Create: layout %d, size %d, context %x", f.Layout(), f.Size(), f.Context())
	}
	t.leads(t.root(), name("file"), n)
	t.noError("Close", f.Close())
	t.leads(t.root(), name("file"), n)
	t.leads(t.root(), name("none"), nil)
	t.holds(t.root(), name("file"))
	_, _, err = t.w.Lookup(n, name("file"))
	t.wantError("Lookup in a file", err, unix.ENOTDIR)
	_, _, _, err = t.w.Create(n, name("file"), 0o640, anyOwner)
	t.wantError("Create in a file", err, unix.ENOTDIR)
	_, err = t.w.ReadDir(n)
	t.wantError("ReadDir of a file", err, unix.ENOTDIR)
	t.noError("Unlink", t.w.Unlink(t.root(), name("file")))
	t.wantError("Unlink again", t.w.Unlink(t.root(), name("file")), unix.ENOENT)
	t.leads(t.root(), name("file"), nil)
	t.holds(t.root())
	if a := t.attr(n); a.Nlink != 0 {
		t.Errorf("%d links after Unlink", a.Nlink)
	}
	late, err := t.w.Open(n, false)
	t.noError("Open of a file that was found before its last name went", err)
	t.noError("Close", late.Close())
	t.w.Release(n, 1)
}

func testExists(t *tree) {
	file := t.create(t.root(), name("other"))
	for _, there := range []struct {
		name string
		n    store.Node
	}{
		{"file", t.create(t.root(), name("file"))},
		{"directory", t.mkdir(t.root(), name("directory"))},
		{"long", t.create(t.root(), long("long"))},
		{"long directory", t.mkdir(t.root(), long("long directory"))},
	} {
		name := name(there.name)
		if there.name[:4] == "long" {
			name = long(there.name)
		}
		_, _, _, err := t.w.Create(t.root(), name, 0o600, anyOwner)
		t.wantError("Create", err, unix.EEXIST)
		_, _, err = t.w.Mkdir(t.root(), name, 0o700, anyOwner, randomBytes(contextSize))
		t.wantError("Mkdir", err, unix.EEXIST)
		_, _, err = t.w.Symlink(t.root(), name, randomBytes(16), anyOwner, randomBytes(contextSize))
		t.wantError("Symlink", err, unix.EEXIST)
		_, _, err = t.w.Mknod(t.root(), name, store.ModeFIFO|0o600, 0, anyOwner)
		t.wantError("Mknod", err, unix.EEXIST)
		_, err = t.w.Link(file, t.root(), name)
		t.wantError("Link", err, unix.EEXIST)
		t.leads(t.root(), name, there.n)
		t.w.Release(there.n, 1)
	}
	t.holds(t.root(), name("other"), name("file"), name("directory"), long("long"), long("long directory"))
	t.w.Release(file, 1)
}

// testNameLengths makes, finds, moves and removes names of every length that an
// encrypted name has.
func testNameLengths(t *tree) {
	var names, moved [][]byte
	dir := t.mkdir(t.root(), name("directory"))
	for size := 16; size <= 255; size++ {
		name := randomBytes(size)
		names = append(names, name)
		n := t.create(t.root(), name)
		t.leads(t.root(), name, n)
		t.w.Release(n, 1)
	}
	t.holds(t.root(), append(names, nameOf("directory", 32))...)
	for _, name := range names {
		other := randomBytes(16 + 255 - len(name))
		moved = append(moved, other)
		t.rename(t.root(), name, dir, other)
		t.leads(t.root(), name, nil)
	}
	t.holds(t.root(), nameOf("directory", 32))
	t.holds(dir, moved...)
	for _, name := range moved {
		t.noError("Unlink", t.w.Unlink(dir, name))
	}
	t.holds(dir)
	t.noError("Rmdir", t.w.Rmdir(t.root(), nameOf("directory", 32)))
	t.w.Release(dir, 1)
	_, _, err := t.w.Lookup(t.root(), make([]byte, 256))
	t.wantError("Lookup of 256 bytes", err, unix.ENAMETOOLONG)
	_, _, _, err = t.w.Create(t.root(), make([]byte, 256), 0o600, anyOwner)
	t.wantError("Create of 256 bytes", err, unix.ENAMETOOLONG)
}

func testModes(t *tree) {
	for _, mode := range []uint32{0, 0o200, 0o400, 0o444, 0o555, 0o600, 0o644, 0o666, 0o777, 0o1644, 0o4755} {
		n, a, f, err := t.w.Create(t.root(), name("file"), mode, anyOwner)
		t.noError("Create", err)
		if a.Mode != store.ModeRegular|mode {
			t.Errorf("Create with mode %o makes %o", mode, a.Mode)
		}
		m := newModel(t, f)
		m.setContext()
		m.writeUnits(0, 1, 3000)
		// Whoever opens has been allowed to above; a store that is not
		// allowed itself finds a way.
		m.reopen(n)
		// Writing may have cleared a set-ID bit.
		if a := t.attr(n); a.Mode&^0o6000 != store.ModeRegular|mode&^0o6000 {
			t.Errorf("Open of a file of mode %o leaves %o", mode, a.Mode)
		}
		t.noError("Close", m.f.Close())
		t.noError("Unlink", t.w.Unlink(t.root(), name("file")))
		t.w.Release(n, 1)

		n, a, err = t.w.Mkdir(t.root(), name("directory"), mode&0o1777, anyOwner, randomBytes(contextSize))
		t.noError("Mkdir", err)
		if a.Mode != store.ModeDir|mode&0o1777 {
			t.Errorf("Mkdir with mode %o makes %o", mode&0o1777, a.Mode)
		}
		if _, err := t.w.Context(n); err != nil {
			t.Errorf("Context of a directory of mode %o: %v", mode&0o1777, err)
		}
		t.noError("Rmdir", t.w.Rmdir(t.root(), name("directory")))
		t.w.Release(n, 1)

		n, a, err = t.w.Mknod(t.root(), name("fifo"), store.ModeFIFO|mode&0o777, 0, anyOwner)
		t.noError("Mknod", err)
		if a.Mode != store.ModeFIFO|mode&0o777 {
			t.Errorf("Mknod with mode %o makes %o", mode&0o777, a.Mode)
		}
		t.noError("Unlink", t.w.Unlink(t.root(), name("fifo")))
		t.w.Release(n, 1)
	}
}

func testOwner(t *tree) {
	if os.Geteuid() != 0 {
		t.Skip("only root may give objects away")
	}
	owner := store.Owner{UID: 1234, GID: 4321}
	check := func(what string, n store.Node, a store.Attr, err error) {
		t.Helper()
		t.noError(what, err)
		for _, a := range []store.Attr{a, t.attr(n)} {
			if a.UID != 1234 || a.GID != 4321 {
				t.Errorf("%s: owner %d, group %d", what, a.UID, a.GID)
			}
		}
		t.w.Release(n, 1)
	}
	n, a, f, err := t.w.Create(t.root(), name("file"), 0o6755, owner)
	check("Create", n, a, err)
	if a.Mode&0o7777 != 0o6755 {
		t.Errorf("Create with mode 6755 and an owner makes %o", a.Mode)
	}
	t.noError("Close", f.Close())
	n, a, err = t.w.Mkdir(t.root(), name("directory"), 0o500, owner, randomBytes(contextSize))
	check("Mkdir", n, a, err)
	n, a, err = t.w.Symlink(t.root(), name("symlink"), randomBytes(16), owner, randomBytes(contextSize))
	check("Symlink", n, a, err)
	n, a, err = t.w.Mknod(t.root(), name("device"), store.ModeChar|0o600, unix.Mkdev(1, 3), owner)
	check("Mknod", n, a, err)
	if a.Rdev != unix.Mkdev(1, 3) {
		t.Errorf("Mknod: device %#x", a.Rdev)
	}

	// A directory with the set-group-ID bit passes on its group, and the bit.
	dir, _, err := t.w.Mkdir(t.root(), name("setgid"), 0o2755, owner, randomBytes(contextSize))
	t.noError("Mkdir", err)
	n, a, f, err = t.w.Create(dir, name("file"), 0o644, store.Owner{UID: 7, GID: -1})
	t.noError("Create", err)
	t.noError("Close", f.Close())
	if a.UID != 7 || a.GID != 4321 || a.Mode&0o7777 != 0o644 {
		t.Errorf("Create in a set-group-ID directory: owner %d, group %d, mode %o", a.UID, a.GID, a.Mode)
	}
	t.w.Release(n, 1)
	n, a, err = t.w.Mkdir(dir, name("directory"), 0o700, store.Owner{UID: 7, GID: -1}, randomBytes(contextSize))
	t.noError("Mkdir", err)
	if a.UID != 7 || a.GID != 4321 || a.Mode&0o7777 != 0o2700 {
		t.Errorf("Mkdir in a set-group-ID directory: owner %d, group %d, mode %o", a.UID, a.GID, a.Mode)
	}
	t.w.Release(n, 1)
	t.w.Release(dir, 1)
}

func testMkdir(t *tree) {
	context := randomBytes(contextSize)
	n, a, err := t.w.Mkdir(t.root(), name("directory"), 0o750, anyOwner, context)
	t.noError("Mkdir", err)
	if a.Mode != store.ModeDir|0o750 {
		t.Errorf("Mkdir: mode %o", a.Mode)
	}
	t.leads(t.root(), name("directory"), n)
	t.holds(n)
	checkContext := func(n store.Node) {
		t.Helper()
		got, err := t.w.Context(n)
		if err != nil || !bytes.Equal(got, context) {
			t.Errorf("Context: error %v\n got %x\nwant %x", err, got, context)
		}
	}
	checkContext(n)
	t.w.Release(n, 1)
	n = t.lookup(t.root(), name("directory")) // as new: nothing is remembered
	checkContext(n)
	t.noError("SyncDir", t.w.SyncDir(n))
	t.noError("SyncDir", t.w.SyncDir(t.root()))
	if context, err := t.w.Context(t.root()); err != nil || len(context) != contextSize {
		t.Errorf("Context of the root: %x, error %v", context, err)
	}
	// Deep enough that a store cannot keep everything open.
	dirs := []store.Node{n}
	for range 100 {
		dirs = append(dirs, t.mkdir(dirs[len(dirs)-1], name("below")))
	}
	deep := t.create(dirs[100], name("file"))
	t.leads(dirs[100], name("file"), deep)
	for _, d := range append(dirs, deep) {
		t.w.Release(d, 1)
	}
}

func testRmdir(t *tree) {
	dir := t.mkdir(t.root(), name("directory"))
	file := t.create(dir, name("file"))
	t.wantError("Rmdir", t.w.Rmdir(t.root(), name("directory")), unix.ENOTEMPTY)
	t.leads(t.root(), name("directory"), dir)
	t.leads(dir, name("file"), file)
	t.wantError("Rmdir of a file", t.w.Rmdir(dir, name("file")), unix.ENOTDIR)
	t.wantError("Rmdir of nothing", t.w.Rmdir(dir, name("none")), unix.ENOENT)
	t.wantError("Unlink of a directory", t.w.Unlink(t.root(), name("directory")), unix.EISDIR)
	t.rename(dir, name("file"), t.root(), name("file"))
	t.noError("Rmdir", t.w.Rmdir(t.root(), name("directory")))
	t.holds(t.root(), name("file"))
	if a := t.attr(dir); a.Nlink != 0 || a.Mode&store.ModeType != store.ModeDir {
		t.Errorf("Attr of a removed directory: %+v", a)
	}
	_, _, _, err := t.w.Create(dir, name("file"), 0o600, anyOwner)
	t.wantError("Create in a removed directory", err, unix.ENOENT)
	_, _, err = t.w.Mkdir(dir, name("directory"), 0o700, anyOwner, randomBytes(contextSize))
	t.wantError("Mkdir in a removed directory", err, unix.ENOENT)
	_, _, err = t.w.Lookup(dir, name("file"))
	t.wantError("Lookup in a removed directory", err, unix.ENOENT)
	t.wantError("Rename into a removed directory",
		t.w.Rename(t.root(), name("file"), dir, name("file"), 0), unix.ENOENT)

	again := t.mkdir(t.root(), name("directory"))
	if again == dir {
		t.Error("a new directory is the node of a removed one")
	}
	for _, n := range []store.Node{dir, file, again} {
		t.w.Release(n, 1)
	}
}

func testSymlink(t *tree) {
	dir := t.mkdir(t.root(), name("directory"))
	policy, err := t.w.Context(dir)
	t.noError("Context", err)
	for _, size := range []int{16, 17, 32, 255, 256, 1000, 3000, 4095} {
		context, target := randomBytes(contextSize), randomBytes(size)
		n, a, err := t.w.Symlink(dir, name("symlink"), target, anyOwner, context)
		t.noError("Symlink", err)
		if a.Mode&store.ModeType != store.ModeSymlink || a.Size != int64(size) {
			t.Errorf("Symlink with a target of %d bytes: %+v", size, a)
		}
		if got, err := t.w.Readlink(n); err != nil || !bytes.Equal(got, target) {
			t.Errorf("Readlink: error %v\n got %x\nwant %x", err, got, target)
		}
		want := append(bytes.Clone(policy[:24]), context[24:]...)
		if got, err := t.w.Context(n); err != nil || !bytes.Equal(got, want) {
			t.Errorf("Context: error %v\n got %x\nwant %x", err, got, want)
		}
		if _, err := t.w.Open(n, false); err == nil {
			t.Error("Open of a symbolic link succeeds")
		}
		// A link to a link is the same link.
		if a, err := t.w.Link(n, t.root(), name("link")); err != nil || a.Nlink != 2 {
			t.Errorf("Link to a symbolic link: %d links, error %v", a.Nlink, err)
		} else {
			t.leads(t.root(), name("link"), n)
			t.noError("Unlink", t.w.Unlink(t.root(), name("link")))
			t.w.Release(n, 1)
		}
		t.noError("Unlink", t.w.Unlink(dir, name("symlink")))
		t.w.Release(n, 1)
	}
	_, _, err = t.w.Symlink(dir, name("symlink"), randomBytes(4096), anyOwner, randomBytes(contextSize))
	t.wantError("Symlink with a target of 4096 bytes", err, unix.ENAMETOOLONG)
	t.holds(dir)
	file := t.create(dir, name("file"))
	_, err = t.w.Readlink(file)
	t.wantError("Readlink of a file", err, unix.EINVAL)
	t.w.Release(file, 1)
	t.w.Release(dir, 1)
}

func testMknod(t *tree) {
	for _, typ := range []uint32{store.ModeFIFO, store.ModeSocket} {
		n, a, err := t.w.Mknod(t.root(), name("special"), typ|0o640, 0, anyOwner)
		t.noError("Mknod", err)
		if a.Mode != typ|0o640 || a.Size != 0 {
			t.Errorf("Mknod of %o: %+v", typ, a)
		}
		if c, err := t.w.Context(n); c != nil || err != nil {
			t.Errorf("Context of %o: %x, error %v", typ, c, err)
		}
		if _, err := t.w.Open(n, true); err == nil {
			t.Errorf("Open of %o succeeds", typ)
		}
		t.leads(t.root(), name("special"), n)
		t.noError("Unlink", t.w.Unlink(t.root(), name("special")))
		t.w.Release(n, 1)
	}
}

func testLink(t *tree) {
	dir := t.mkdir(t.root(), name("directory"))
	n := t.create(t.root(), name("one"))
	for i, name := range [][]byte{name("two"), long("three")} {
		a, err := t.w.Link(n, dir, name)
		if err != nil || int(a.Nlink) != i+2 {
			t.Errorf("Link: %d links, error %v", a.Nlink, err)
		}
		t.leads(dir, name, n)
	}
	if _, err := t.w.Link(dir, t.root(), name("link")); err == nil {
		t.Error("Link of a directory succeeds")
	}
	t.noError("Unlink", t.w.Unlink(t.root(), name("one")))
	if a := t.attr(n); a.Nlink != 2 {
		t.Errorf("%d links after one of three is gone", a.Nlink)
	}
	t.leads(t.root(), name("one"), nil)
	m := newModel(t, nil)
	f, err := t.w.Open(n, true)
	t.noError("Open", err)
	m.f = f.(store.FileWriter)
	m.setContext()
	m.writeUnits(0, 1, 100)
	t.noError("Close", f.Close())
	t.rename(dir, name("two"), t.root(), name("two"))
	t.noError("Unlink", t.w.Unlink(dir, long("three")))
	t.leads(t.root(), name("two"), n)
	if a := t.attr(n); a.Nlink != 1 || a.Size != 100 {
		t.Errorf("%d links and size %d, want 1 and 100", a.Nlink, a.Size)
	}
	t.noError("Unlink", t.w.Unlink(t.root(), name("two")))
	if a := t.attr(n); a.Nlink != 0 || a.Size != 100 {
		t.Errorf("%d links and size %d, want 0 and 100", a.Nlink, a.Size)
	}
	_, err = t.w.Link(n, dir, name("again"))
	t.wantError("Link of an unlinked node", err, unix.ENOENT)
	t.w.Release(n, 3)
	t.w.Release(dir, 1)
}

// testLinkDirectories removes the directory through which a file was found.
func testLinkDirectories(t *tree) {
	a, b := t.mkdir(t.root(), name("a")), t.mkdir(t.root(), name("b"))
	n := t.create(a, name("file"))
	_, err := t.w.Link(n, b, name("link"))
	t.noError("Link", err)
	t.noError("Unlink", t.w.Unlink(a, name("file")))
	t.noError("Rmdir", t.w.Rmdir(t.root(), name("a")))
	t.w.Release(a, 1)
	if a := t.attr(n); a.Nlink != 1 {
		t.Errorf("%d links", a.Nlink)
	}
	f, err := t.w.Open(n, false)
	t.noError("Open", err)
	t.noError("Close", f.Close())
	t.leads(b, name("link"), n)
	t.w.Release(n, 2)
	t.w.Release(b, 1)
}

func testUnlinkOpen(t *tree) {
	n, f := t.open(t.root(), name("file"))
	m := newModel(t, f)
	m.setContext()
	m.writeUnits(0, 2, 5000)
	t.noError("Unlink", t.w.Unlink(t.root(), name("file")))
	other := t.create(t.root(), name("file"))
	m.writeUnits(2, 3, 20000)
	if a := t.attr(n); a.Nlink != 0 || a.Size != 20000 {
		t.Errorf("Attr: %+v, want no links and size 20000", a)
	}
	if a := t.attr(other); a.Nlink != 1 || a.Size != 0 {
		t.Errorf("Attr of the new file: %+v", a)
	}
	mode := uint32(0o600)
	t.noError("SetAttr", t.w.SetAttr(n, store.SetAttr{Mode: &mode}))
	if a := t.attr(n); a.Mode&0o7777 != mode {
		t.Errorf("SetAttr makes mode %o", a.Mode)
	}
	second, err := t.w.Open(n, true)
	t.noError("Open of an unlinked file that is open", err)
	t.noError("Close", f.Close())
	m.f = second.(store.FileWriter)
	m.check(second, "Open")
	m.writeUnits(0, 1, 0)
	t.noError("Close", second.Close())
	if a := t.attr(n); a.Nlink != 0 {
		t.Errorf("Attr: %+v, want no links", a)
	}
	t.w.Release(n, 1)
	t.w.Release(other, 1)
}

// testRecreate makes and removes one name many times, which uses inode numbers
// again, with references to all that came before.
func testRecreate(t *tree) {
	seen := make(map[store.Node]bool)
	for range 50 {
		n := t.create(t.root(), name("file"))
		if seen[n] {
			t.Fatal("a new file is the node of a removed one")
		}
		seen[n] = true
		t.noError("Unlink", t.w.Unlink(t.root(), name("file")))
	}
	for n := range seen {
		if a := t.attr(n); a.Nlink != 0 {
			t.Errorf("Attr: %+v", a)
		}
		t.w.Release(n, 1)
	}
}

func testRename(t *tree) {
	dir := t.mkdir(t.root(), name("directory"))
	n := t.create(t.root(), name("a"))
	t.rename(t.root(), name("a"), t.root(), name("b"))
	t.leads(t.root(), name("a"), nil)
	t.leads(t.root(), name("b"), n)
	t.rename(t.root(), name("b"), dir, name("c"))
	t.leads(dir, name("c"), n)
	t.holds(t.root(), name("directory"))
	t.rename(dir, name("c"), dir, name("c"))
	t.leads(dir, name("c"), n)
	if a := t.attr(n); a.Nlink != 1 {
		t.Errorf("%d links after Rename", a.Nlink)
	}
	t.wantError("Rename of nothing", t.w.Rename(t.root(), name("none"), dir, name("c"), 0), unix.ENOENT)
	t.wantError("Rename of nothing onto itself", t.w.Rename(t.root(), name("none"), t.root(), name("none"), 0), unix.ENOENT)
	t.wantError("Rename in a file", t.w.Rename(n, name("a"), dir, name("a"), 0), unix.ENOTDIR)
	t.leads(dir, name("c"), n)

	// Two links of one inode stay two.
	_, err := t.w.Link(n, dir, long("link"))
	t.noError("Link", err)
	t.rename(dir, name("c"), dir, long("link"))
	t.holds(dir, name("c"), long("link"))
	if a := t.attr(n); a.Nlink != 2 {
		t.Errorf("%d links after Rename onto another link", a.Nlink)
	}
	t.w.Release(n, 2)
	t.w.Release(dir, 1)
}

func testRenameOver(t *tree) {
	n, over := t.create(t.root(), name("new")), t.create(t.root(), name("old"))
	t.rename(t.root(), name("new"), t.root(), name("old"))
	t.leads(t.root(), name("old"), n)
	t.holds(t.root(), name("old"))
	if a := t.attr(over); a.Nlink != 0 {
		t.Errorf("%d links after it was replaced", a.Nlink)
	}
	if a := t.attr(n); a.Nlink != 1 {
		t.Errorf("%d links after it replaced another", a.Nlink)
	}

	// One that is open and has another link goes on.
	linked, f := t.open(t.root(), name("linked"))
	_, err := t.w.Link(linked, t.root(), name("link"))
	t.noError("Link", err)
	t.rename(t.root(), name("old"), t.root(), name("linked"))
	t.leads(t.root(), name("linked"), n)
	t.leads(t.root(), name("link"), linked)
	if a, err := f.Attr(); err != nil || a.Nlink != 1 {
		t.Errorf("%d links of the replaced file, error %v", a.Nlink, err)
	}
	t.noError("Close", f.Close())
	if a := t.attr(linked); a.Nlink != 1 {
		t.Errorf("%d links of the replaced file", a.Nlink)
	}

	dir := t.mkdir(t.root(), name("directory"))
	t.wantError("Rename of a file over a directory",
		t.w.Rename(t.root(), name("link"), t.root(), name("directory"), 0), unix.EISDIR)
	t.wantError("Rename of a directory over a file",
		t.w.Rename(t.root(), name("directory"), t.root(), name("link"), 0), unix.ENOTDIR)
	t.leads(t.root(), name("directory"), dir)
	t.leads(t.root(), name("link"), linked)
	for _, n := range []store.Node{n, over, linked, linked, dir} {
		t.w.Release(n, 1)
	}
}

func testRenameDirectory(t *tree) {
	a := t.mkdir(t.root(), name("a"))
	b := t.mkdir(a, name("b"))
	file := t.create(b, name("file"))
	other := t.mkdir(t.root(), name("other"))

	// Everything below goes along.
	t.rename(t.root(), name("a"), other, long("moved"))
	t.leads(other, long("moved"), a)
	t.leads(a, name("b"), b)
	t.leads(b, name("file"), file)
	t.attr(file)
	made := t.create(b, name("made"))
	t.holds(b, name("file"), name("made"))

	t.wantError("Rename of a directory into itself", t.w.Rename(other, long("moved"), b, name("x"), 0), unix.EINVAL)
	t.wantError("Rename over what holds it", t.w.Rename(a, name("b"), other, long("moved"), 0), unix.ENOTEMPTY)

	// Over an empty directory, over one that is not, in the same and in another.
	empty := t.mkdir(t.root(), name("empty"))
	t.rename(other, long("moved"), t.root(), name("empty"))
	t.leads(t.root(), name("empty"), a)
	t.leads(other, long("moved"), nil)
	t.leads(b, name("file"), file)
	if a := t.attr(empty); a.Nlink != 0 {
		t.Errorf("%d links of the replaced directory", a.Nlink)
	}
	_, _, _, err := t.w.Create(empty, name("file"), 0o600, anyOwner)
	t.wantError("Create in a replaced directory", err, unix.ENOENT)
	t.wantError("Rename over a full directory", t.w.Rename(t.root(), name("other"), t.root(), name("empty"), 0), unix.ENOTEMPTY)
	t.rename(t.root(), name("empty"), t.root(), name("other"))
	t.holds(t.root(), name("other"))
	t.leads(t.root(), name("other"), a)
	t.leads(b, name("made"), made)
	// The target of a failed rename is as it was.
	t.wantError("Rename of a directory into itself", t.w.Rename(t.root(), name("other"), a, name("b"), 0), unix.ENOTEMPTY)
	inner := t.mkdir(a, name("inner"))
	t.wantError("Rename of a directory into itself", t.w.Rename(t.root(), name("other"), a, name("inner"), 0), unix.EINVAL)
	t.leads(a, name("inner"), inner)
	last := t.create(inner, name("file"))
	for _, n := range []store.Node{a, b, file, other, made, empty, inner, last} {
		t.w.Release(n, 1)
	}
}

func testRenameFlags(t *tree) {
	dir := t.mkdir(t.root(), name("directory"))
	file := t.create(t.root(), name("file"))
	below := t.create(dir, name("below"))
	rename := func(oldDir store.Node, oldName []byte, newDir store.Node, newName []byte, flags uint) error {
		return t.w.Rename(oldDir, oldName, newDir, newName, flags)
	}
	t.wantError("NOREPLACE", rename(t.root(), name("file"), dir, name("below"), unix.RENAME_NOREPLACE), unix.EEXIST)
	t.wantError("NOREPLACE of a name by itself", rename(t.root(), name("file"), t.root(), name("file"), unix.RENAME_NOREPLACE), unix.EEXIST)
	t.noError("NOREPLACE", rename(t.root(), name("file"), dir, name("file"), unix.RENAME_NOREPLACE))
	t.leads(dir, name("file"), file)
	t.wantError("EXCHANGE with nothing", rename(dir, name("file"), t.root(), name("none"), unix.RENAME_EXCHANGE), unix.ENOENT)
	t.wantError("WHITEOUT", rename(dir, name("file"), t.root(), name("none"), unix.RENAME_WHITEOUT), unix.EINVAL)
	t.wantError("both", rename(dir, name("file"), t.root(), name("none"), unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE), unix.EINVAL)

	other := t.mkdir(t.root(), long("other"))
	err := rename(dir, name("file"), t.root(), long("other"), unix.RENAME_EXCHANGE)
	t.noError("EXCHANGE", err)
	t.leads(dir, name("file"), other)
	t.leads(t.root(), long("other"), file)
	t.holds(t.root(), name("directory"), long("other"))
	t.holds(dir, name("file"), name("below"))
	inside := t.create(other, name("inside"))
	t.leads(other, name("inside"), inside)
	t.attr(file)
	t.noError("EXCHANGE", rename(dir, name("file"), dir, name("below"), unix.RENAME_EXCHANGE))
	t.leads(dir, name("file"), below)
	t.leads(dir, name("below"), other)
	for _, n := range []store.Node{dir, file, below, other, inside} {
		t.w.Release(n, 1)
	}
}

// testRenameLong goes through all pairs of short and long names.
func testRenameLong(t *tree) {
	n := t.create(t.root(), name("a"))
	dir := t.mkdir(t.root(), name("directory"))
	at, now := t.root(), name("a")
	for _, to := range []struct {
		dir  store.Node
		name []byte
	}{
		{t.root(), long("a")}, {t.root(), long("b")}, {dir, long("b")}, {dir, name("b")},
		{dir, long("a")}, {t.root(), name("a")}, {dir, long("a")}, {t.root(), long("a")},
	} {
		t.rename(at, now, to.dir, to.name)
		t.leads(at, now, nil)
		t.leads(to.dir, to.name, n)
		at, now = to.dir, to.name
	}
	over := t.create(dir, long("a"))
	t.rename(at, now, dir, long("a"))
	t.leads(dir, long("a"), n)
	t.holds(dir, long("a"))
	t.holds(t.root(), name("directory"))
	t.noError("Unlink", t.w.Unlink(dir, long("a")))
	t.holds(dir)
	t.noError("Rmdir", t.w.Rmdir(t.root(), name("directory")))
	for _, n := range []store.Node{n, dir, over} {
		t.w.Release(n, 1)
	}
}

func testSetAttr(t *tree) {
	symlink, _, err := t.w.Symlink(t.root(), name("symlink"), randomBytes(16), anyOwner, randomBytes(contextSize))
	t.noError("Symlink", err)
	opened, f := t.open(t.root(), name("open"))
	fifo, _, err := t.w.Mknod(t.root(), name("fifo"), store.ModeFIFO|0o600, 0, anyOwner)
	t.noError("Mknod", err)
	nodes := []store.Node{t.mkdir(t.root(), name("directory")), t.create(t.root(), name("file")), opened, fifo, symlink, t.root()}
	for _, n := range nodes {
		before := t.attr(n)
		if n != symlink {
			for _, mode := range []uint32{0o4710, 0, 0o755} {
				t.noError("SetAttr of the mode", t.w.SetAttr(n, store.SetAttr{Mode: &mode}))
				if a := t.attr(n); a.Mode != before.Mode&store.ModeType|mode {
					t.Errorf("%v: SetAttr of mode %o makes %o", n, mode, a.Mode)
				}
			}
		}
		atime, mtime := time.Unix(1000000000, 123456789), time.Unix(-5, 987654321)
		t.noError("SetAttr of times", t.w.SetAttr(n, store.SetAttr{Atime: &atime, Mtime: &mtime}))
		if a := t.attr(n); !a.Atime.Equal(atime) || !a.Mtime.Equal(mtime) {
			t.Errorf("%v: SetAttr makes times %v and %v", n, a.Atime, a.Mtime)
		}
		t.noError("SetAttr of the time of access to now", t.w.SetAttr(n, store.SetAttr{AtimeNow: true}))
		if a := t.attr(n); !a.Mtime.Equal(mtime) || time.Since(a.Atime) > time.Hour {
			t.Errorf("%v: times %v and %v", n, a.Atime, a.Mtime)
		}
		t.noError("SetAttr of the time of change to now", t.w.SetAttr(n, store.SetAttr{MtimeNow: true}))
		if a := t.attr(n); time.Since(a.Mtime) > time.Hour {
			t.Errorf("%v: time %v", n, a.Mtime)
		}
		if os.Geteuid() == 0 {
			uid, gid := uint32(1234), uint32(4321)
			t.noError("SetAttr of the owner", t.w.SetAttr(n, store.SetAttr{UID: &uid}))
			t.noError("SetAttr of the group", t.w.SetAttr(n, store.SetAttr{GID: &gid}))
			if a := t.attr(n); a.UID != uid || a.GID != gid {
				t.Errorf("%v: SetAttr makes owner %d and group %d", n, a.UID, a.GID)
			}
		}
		t.noError("SetAttr of nothing", t.w.SetAttr(n, store.SetAttr{}))
	}
	t.noError("Close", f.Close())
	for _, n := range nodes {
		t.w.Release(n, 1)
	}
}

func testRelease(t *tree) {
	n := t.create(t.root(), name("file"))
	for range 9 {
		if t.lookup(t.root(), name("file")) != n {
			t.Fatal("Lookup gives another node")
		}
	}
	t.w.Release(n, 9)
	t.attr(n)
	t.w.Release(n, 1)
	// A directory that the caller has let go is still there for its children.
	dir := t.mkdir(t.root(), name("directory"))
	file, f := t.open(dir, name("file"))
	t.w.Release(dir, 1)
	t.attr(file)
	t.w.Release(file, 1)
	if a, err := f.Attr(); err != nil || a.Nlink != 1 {
		t.Errorf("Attr of a file that is open: %+v, error %v", a, err)
	}
	t.noError("Close", f.Close())
	dir = t.lookup(t.root(), name("directory"))
	file = t.lookup(dir, name("file"))
	t.noError("Unlink", t.w.Unlink(dir, name("file")))
	t.noError("Rmdir", t.w.Rmdir(t.root(), name("directory")))
	t.w.Release(dir, 1)
	t.w.Release(file, 1)
}

// testConcurrent lets several goroutines change the same few names and checks
// that the result is a tree.
func testConcurrent(t *tree) {
	dirs := []store.Node{t.root(), t.mkdir(t.root(), name("first")), t.mkdir(t.root(), long("second"))}
	names := [][]byte{name("a"), long("b"), name("c"), long("d")}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			dir := func() store.Node { return dirs[r.IntN(len(dirs))] }
			name := func() []byte { return names[r.IntN(len(names))] }
			for range 200 {
				var err error
				switch r.IntN(9) {
				case 0:
					n, _, f, e := t.w.Create(dir(), name(), 0o600, anyOwner)
					if err = e; err == nil {
						if _, err := f.Attr(); err != nil {
							t.Errorf("Attr of an open file: %v", err)
						}
						f.Close()
						t.w.Release(n, 1)
					}
				case 1:
					n, _, e := t.w.Mkdir(dir(), name(), 0o700, anyOwner, randomBytes(contextSize))
					if err = e; err == nil {
						t.w.Release(n, 1)
					}
				case 2:
					err = t.w.Unlink(dir(), name())
				case 3:
					err = t.w.Rmdir(dir(), name())
				case 4, 5:
					flags := []uint{0, unix.RENAME_NOREPLACE, unix.RENAME_EXCHANGE}
					err = t.w.Rename(dir(), name(), dir(), name(), flags[r.IntN(len(flags))])
				case 6:
					n, _, e := t.w.Lookup(dir(), name())
					if err = e; err == nil {
						if _, e := t.w.Link(n, dir(), name()); e == nil {
							t.w.Release(n, 1)
						}
						_, err = t.w.Attr(n)
						t.w.Release(n, 1)
					}
				case 7:
					n, a, e := t.w.Lookup(dir(), name())
					if err = e; err == nil {
						if a.Mode&store.ModeType == store.ModeDir {
							_, err = t.w.Context(n)
						} else if f, e := t.w.Open(n, true); e == nil {
							f.Close()
						}
						t.w.Release(n, 1)
					}
				case 8:
					var entries []store.Dirent
					entries, err = t.w.ReadDir(dir())
					for _, e := range entries {
						if e.Err != nil {
							t.Errorf("ReadDir: %s: %v", e.Lower, e.Err)
						}
					}
				}
				if err != nil && !expected(err) {
					t.Errorf("unexpected: %v", err)
				}
			}
		})
	}
	wg.Wait()
	testRead(t.T, t.w)
	for _, n := range dirs[1:] {
		t.w.Release(n, 1)
	}
}

// expected reports whether an error is one of those that come of names being
// there or not.
func expected(err error) bool {
	for _, errno := range []unix.Errno{unix.ENOENT, unix.EEXIST, unix.ENOTDIR, unix.EISDIR, unix.ENOTEMPTY, unix.ESTALE} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

func testXattrs(t *tree) {
	x, ok := t.w.(store.XattrWriter)
	if !ok {
		t.Skip("the store keeps no extended attributes")
	}
	dir, file := t.mkdir(t.root(), name("directory")), t.create(t.root(), name("file"))
	opened, f := t.open(t.root(), name("open"))
	if err := x.SetXattr(file, "user.test", []byte("value"), 0); errors.Is(err, unix.EOPNOTSUPP) {
		t.Skipf("no extended attributes here: %v", err)
	}
	for _, n := range []store.Node{dir, file, opened, t.root()} {
		t.noError("SetXattr", x.SetXattr(n, "user.test", []byte("value"), 0))
		t.wantError("SetXattr CREATE", x.SetXattr(n, "user.test", nil, unix.XATTR_CREATE), unix.EEXIST)
		t.wantError("SetXattr REPLACE", x.SetXattr(n, "user.none", nil, unix.XATTR_REPLACE), unix.ENODATA)
		big := randomBytes(2000)
		t.noError("SetXattr", x.SetXattr(n, "user.big", big, unix.XATTR_CREATE))
		t.noError("SetXattr", x.SetXattr(n, "user.empty", nil, 0))
		for name, want := range map[string][]byte{"user.test": []byte("value"), "user.big": big, "user.empty": {}} {
			if got, err := x.GetXattr(n, name); err != nil || !bytes.Equal(got, want) {
				t.Errorf("GetXattr of %s: %q, error %v", name, got, err)
			}
		}
		list, err := x.ListXattr(n)
		t.noError("ListXattr", err)
		names := make(map[string]bool)
		for _, name := range list {
			names[name] = true
		}
		if len(list) != len(names) || !names["user.test"] || !names["user.big"] || !names["user.empty"] {
			t.Errorf("ListXattr: %q", list)
		}
		for _, name := range []string{"user.test", "user.big", "user.empty"} {
			t.noError("RemoveXattr", x.RemoveXattr(n, name))
		}
		_, err = x.GetXattr(n, "user.test")
		t.wantError("GetXattr", err, unix.ENODATA)
		t.wantError("RemoveXattr", x.RemoveXattr(n, "user.test"), unix.ENODATA)
	}
	t.noError("Close", f.Close())
	for _, n := range []store.Node{dir, file, opened} {
		t.w.Release(n, 1)
	}
}
