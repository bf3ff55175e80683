package storetest

import (
	"bytes"
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// populate makes objects of all kinds.
func populate(t *tree) {
	top := t.mkdir(t.root(), name("directory"))
	below := t.mkdir(top, long("directory"))
	for i, size := range []int64{0, 1, 16, 100, 3952, 4096, 5000, 100000} {
		n, f := t.open([]store.Node{t.root(), top, below}[i%3], nameOf("file", 32+i))
		m := newModel(t, f)
		if size > 0 {
			m.setContext()
		}
		if size > 0 && size <= f.InlineMax() {
			m.writeInline(size)
		} else if size > 0 {
			m.writeUnits(0, (size+unitSize-1)/unitSize, size)
		}
		t.noError("Close", f.Close())
		if _, err := t.w.Link(n, below, nameOf("link", 32+i)); err != nil {
			t.Fatalf("Link: %v", err)
		}
		t.w.Release(n, 2)
	}
	n, _, err := t.w.Symlink(top, name("symlink"), randomBytes(48), anyOwner, randomBytes(contextSize))
	t.noError("Symlink", err)
	t.w.Release(n, 1)
	n, _, err = t.w.Mknod(top, name("fifo"), store.ModeFIFO|0o600, 0, anyOwner)
	t.noError("Mknod", err)
	t.w.Release(n, 1)
	t.w.Release(below, 1)
	t.w.Release(top, 1)
}

type inode struct{ dev, ino uint64 }

// testRead walks through a store and compares what its methods say.
func testRead(t *testing.T, s store.Store) {
	a, err := s.Attr(s.Root())
	if err != nil {
		t.Fatalf("Attr of the root: %v", err)
	}
	if a.Mode&store.ModeType != store.ModeDir {
		t.Fatalf("the root has mode %o", a.Mode)
	}
	r := &reader{T: t, s: s, unitSize: unitSize, seen: make(map[inode]store.Node)}
	if fs, ok := s.(store.FileSystem); ok {
		r.unitSize = fs.BlockSize()
	}
	r.seen[inode{a.Dev, a.Ino}] = s.Root()
	r.directory(s.Root())
	if _, _, err := s.Lookup(s.Root(), randomBytes(32)); !errors.Is(err, unix.ENOENT) {
		t.Errorf("Lookup of what is not there: %v", err)
	}
	for _, n := range r.seen {
		if n != s.Root() {
			s.Release(n, 1)
		}
	}
}

type reader struct {
	*testing.T
	s        store.Store
	unitSize int
	seen     map[inode]store.Node // with a reference each
}

func (r *reader) directory(dir store.Node) {
	entries, err := r.s.ReadDir(dir)
	if err != nil {
		r.Errorf("ReadDir of %v: %v", dir, err)
		return
	}
	for _, e := range entries {
		if e.Err != nil {
			if e.Name != nil {
				r.Errorf("%v: %s has a name and an error, %v", dir, e.Lower, e.Err)
			}
			continue
		}
		n, a, err := r.s.Lookup(dir, e.Name)
		if err != nil {
			r.Errorf("Lookup of %s in %v: %v", e.Lower, dir, err)
			continue
		}
		if e.Ino != a.Ino {
			r.Errorf("%v: inode %d in its directory, %d in its attributes", n, e.Ino, a.Ino)
		}
		if e.Type != 0 && e.Type != a.Mode&store.ModeType {
			r.Errorf("%v: type %o in its directory, mode %o in its attributes", n, e.Type, a.Mode)
		}
		if b, err := r.s.Attr(n); err != nil || b != a {
			// The time of access may have moved on.
			if b.Atime = a.Atime; err != nil || b != a {
				r.Errorf("%v: Lookup says %+v, Attr says %+v and error %v", n, a, b, err)
			}
		}
		if _, _, err := r.s.Lookup(n, e.Name); a.Mode&store.ModeType != store.ModeDir && !errors.Is(err, unix.ENOTDIR) {
			r.Errorf("Lookup in %v, which is no directory: %v", n, err)
		}
		if before := r.seen[inode{a.Dev, a.Ino}]; before != nil {
			if before != n {
				r.Errorf("%v and %v are one inode and two nodes", before, n)
			}
			r.s.Release(n, 1)
			continue
		}
		r.seen[inode{a.Dev, a.Ino}] = n
		r.object(n, a)
	}
}

func (r *reader) object(n store.Node, a store.Attr) {
	if a.Nlink == 0 {
		r.Errorf("%v has a name and no links", n)
	}
	switch a.Mode & store.ModeType {
	case store.ModeDir:
		if _, err := r.s.Context(n); err != nil {
			r.Errorf("Context of %v: %v", n, err)
		}
		if _, err := r.s.Open(n, false); !errors.Is(err, unix.EISDIR) {
			r.Errorf("Open of the directory %v: %v", n, err)
		}
		r.directory(n)
	case store.ModeRegular:
		r.file(n, a)
	case store.ModeSymlink:
		target, err := r.s.Readlink(n)
		if err != nil {
			r.Errorf("Readlink of %v: %v", n, err)
		} else if int64(len(target)) != a.Size {
			r.Errorf("%v: a target of %d bytes, size %d", n, len(target), a.Size)
		}
		if _, err := r.s.Context(n); err != nil {
			r.Errorf("Context of %v: %v", n, err)
		}
	default:
		if f, err := r.s.Open(n, false); err == nil {
			r.Errorf("Open of %v, mode %o, succeeds", n, a.Mode)
			f.Close()
		}
	}
}

// file reads a file as a whole and in parts.
func (r *reader) file(n store.Node, a store.Attr) {
	f, err := r.s.Open(n, false)
	if err != nil {
		r.Errorf("Open of %v: %v", n, err)
		return
	}
	defer f.Close()
	if _, ok := f.(store.FileWriter); ok {
		r.Errorf("%v: a file opened for reading can be written to", n)
	}
	if f.Size() != a.Size {
		r.Errorf("%v: Size is %d, Attr says %d", n, f.Size(), a.Size)
	}
	if empty := f.Layout() == store.LayoutEmpty; empty && (f.Size() != 0 || f.Context() != nil) {
		r.Errorf("%v: empty, with size %d and context %x", n, f.Size(), f.Context())
	}
	unitSize := r.unitSize
	units := int((f.Size() + int64(unitSize) - 1) / int64(unitSize))
	const most = 1 << 12
	units = min(units, most)
	whole, holes := make([]byte, (units+1)*unitSize), make([]bool, units+1)
	got, err := f.ReadUnits(whole, 0, holes)
	if err != nil {
		r.Errorf("ReadUnits of %v: %v", n, err)
		return
	}
	switch {
	case units == most:
	case f.Layout() == store.LayoutInline && int64(got) != (f.Size()+15)&^15,
		f.Layout() != store.LayoutInline && got != units*unitSize:
		r.Errorf("%v: ReadUnits gives %d bytes for size %d in layout %d", n, got, f.Size(), f.Layout())
		return
	}
	for i := range units {
		var hole [1]bool
		part := make([]byte, unitSize)
		end := min((i+1)*unitSize, got)
		m, err := f.ReadUnits(part, uint64(i), hole[:])
		switch {
		case err != nil || m != end-i*unitSize:
			r.Errorf("%v: ReadUnits of unit %d gives %d bytes and error %v", n, i, m, err)
		case hole[0] != holes[i] || !hole[0] && !bytes.Equal(part[:m], whole[i*unitSize:end]):
			r.Errorf("%v: unit %d is something else when read on its own", n, i)
		}
	}
	if m, err := f.ReadUnits(whole[:unitSize], uint64((f.Size()+int64(unitSize)-1)/int64(unitSize)), holes); m != 0 || err != nil {
		r.Errorf("%v: ReadUnits past the end gives %d bytes and error %v", n, m, err)
	}
	for _, whence := range []int{unix.SEEK_DATA, unix.SEEK_HOLE} {
		if _, err := f.Seek(f.Size(), whence); !errors.Is(err, unix.ENXIO) {
			r.Errorf("%v: Seek from the end: %v", n, err)
		}
	}
	if b, err := f.Attr(); err != nil || b.Ino != a.Ino || b.Size != a.Size {
		r.Errorf("%v: Attr of the open file says %+v and error %v", n, b, err)
	}
	if err := f.Reload(); err != nil || f.Size() != a.Size {
		r.Errorf("%v: Reload: size %d, error %v", n, f.Size(), err)
	}
}

func testStatfs(t *testing.T, s store.Store) {
	st, err := s.Statfs()
	if err != nil {
		t.Fatal(err)
	}
	if st.Bsize == 0 || st.Frsize == 0 || st.Bfree > st.Blocks || st.Bavail > st.Blocks {
		t.Errorf("Statfs: %+v", st)
	}
}
