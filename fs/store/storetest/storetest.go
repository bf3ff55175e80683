// Package storetest is the suite that every store passes: what it reads is
// consistent with itself, and if it can be written to, everything that
// store.Writer and store.FileWriter promise holds, compared with a model of
// data units in memory.
package storetest

import (
	"bytes"
	"crypto/rand"
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// unitSize is the data unit size of the files that the suite makes, in bytes.
const unitSize = 4096

// contextSize is the length of a context of a version 2 policy, in bytes.
const contextSize = 40

// Run tests a store. open returns a store that is ready for use and that
// nobody else uses, a new one each time if it can be written to; if not, there
// should be objects of all kinds in it. Run closes it.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	run := func(name string, f func(t *testing.T, s store.Store)) {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
			f(t, s)
		})
	}
	run("Read", func(t *testing.T, s store.Store) {
		if w, ok := s.(store.Writer); ok {
			populate(&tree{t, w})
		}
		testRead(t, s)
	})
	run("Statfs", testStatfs)
	probe := open(t)
	_, writable := probe.(store.Writer)
	if err := probe.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if !writable {
		return
	}
	for _, test := range []struct {
		name string
		f    func(*tree)
	}{
		{"Create", testCreate},
		{"Exists", testExists},
		{"NameLengths", testNameLengths},
		{"Modes", testModes},
		{"Owner", testOwner},
		{"Mkdir", testMkdir},
		{"Rmdir", testRmdir},
		{"Symlink", testSymlink},
		{"Mknod", testMknod},
		{"Link", testLink},
		{"LinkDirectories", testLinkDirectories},
		{"UnlinkOpen", testUnlinkOpen},
		{"Recreate", testRecreate},
		{"Rename", testRename},
		{"RenameOver", testRenameOver},
		{"RenameDirectory", testRenameDirectory},
		{"RenameFlags", testRenameFlags},
		{"RenameLong", testRenameLong},
		{"SetAttr", testSetAttr},
		{"Release", testRelease},
		{"Concurrent", testConcurrent},
		{"Xattrs", testXattrs},
		{"Sizes", testSizes},
		{"SizeSteps", testSizeSteps},
		{"Holes", testHoles},
		{"Seek", testSeek},
		{"Contexts", testContexts},
		{"Allocate", testAllocate},
		{"Random", testRandom},
		{"ConcurrentReads", testConcurrentReads},
	} {
		run(test.name, func(t *testing.T, s store.Store) { test.f(&tree{t, s.(store.Writer)}) })
	}
}

// anyOwner leaves the owner to the store.
var anyOwner = store.Owner{UID: -1, GID: -1}

// randomBytes returns n bytes as ciphertext looks.
func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

// name returns an encrypted name of 32 bytes that begins with text.
func name(text string) []byte { return nameOf(text, 32) }

func nameOf(text string, size int) []byte {
	return append([]byte(text), bytes.Repeat([]byte{0xEE}, size-len(text))...)
}

// long returns a name of 255 bytes.
func long(text string) []byte { return nameOf(text, 255) }

// A tree is a store under test, with the operations that are to succeed.
type tree struct {
	*testing.T
	w store.Writer
}

func (t *tree) root() store.Node { return t.w.Root() }

func (t *tree) noError(what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func (t *tree) wantError(what string, err error, want unix.Errno) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

func (t *tree) open(dir store.Node, name []byte) (store.Node, store.FileWriter) {
	t.Helper()
	n, _, f, err := t.w.Create(dir, name, 0o644, anyOwner)
	t.noError("Create", err)
	return n, f
}

func (t *tree) create(dir store.Node, name []byte) store.Node {
	t.Helper()
	n, f := t.open(dir, name)
	t.noError("Close", f.Close())
	return n
}

func (t *tree) mkdir(dir store.Node, name []byte) store.Node {
	t.Helper()
	n, _, err := t.w.Mkdir(dir, name, 0o755, anyOwner, randomBytes(contextSize))
	t.noError("Mkdir", err)
	return n
}

func (t *tree) lookup(dir store.Node, name []byte) store.Node {
	t.Helper()
	n, _, err := t.w.Lookup(dir, name)
	t.noError("Lookup", err)
	return n
}

func (t *tree) attr(n store.Node) store.Attr {
	t.Helper()
	a, err := t.w.Attr(n)
	t.noError("Attr", err)
	return a
}

func (t *tree) rename(oldDir store.Node, oldName []byte, newDir store.Node, newName []byte) {
	t.Helper()
	t.noError("Rename", t.w.Rename(oldDir, oldName, newDir, newName, 0))
}

// leads checks which node a name leads to; nil is none.
func (t *tree) leads(dir store.Node, name []byte, want store.Node) {
	t.Helper()
	n, _, err := t.w.Lookup(dir, name)
	if err == nil {
		defer t.w.Release(n, 1)
	}
	switch {
	case want == nil:
		if !errors.Is(err, unix.ENOENT) {
			t.Errorf("Lookup of %.8q: got %v and error %v, want ENOENT", name, n, err)
		}
	case err != nil:
		t.Errorf("Lookup of %.8q: %v", name, err)
	case n != want:
		t.Errorf("Lookup of %.8q leads to %v, want %v", name, n, want)
	}
}

// holds checks the names in a directory, which are all good.
func (t *tree) holds(dir store.Node, names ...[]byte) {
	t.Helper()
	entries, err := t.w.ReadDir(dir)
	t.noError("ReadDir", err)
	want := make(map[string]bool)
	for _, name := range names {
		want[string(name)] = true
	}
	for _, e := range entries {
		if e.Err != nil {
			t.Errorf("ReadDir: %s: %v", e.Lower, e.Err)
		} else if !want[string(e.Name)] {
			t.Errorf("ReadDir: %.8q (%s) should not be there, or not twice", e.Name, e.Lower)
		}
		delete(want, string(e.Name))
	}
	for name := range want {
		t.Errorf("ReadDir: %.8q is missing", name)
	}
}
