package fs_test

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/keys"
)

// Requests as the kernel makes them, without a kernel.

func newFS(t *testing.T) (*fs.FS, *fs.Volume) {
	t.Helper()
	v := newVolume(t)
	f, err := fs.NewFS(v)
	if err != nil {
		t.Fatal(err)
	}
	return f, v
}

func in(node uint64) fuse.InHeader { return fuse.InHeader{NodeId: node} }

func createIn(flags uint32) *fuse.CreateIn {
	return &fuse.CreateIn{InHeader: in(fuse.FUSE_ROOT_ID), Flags: flags | syscall.O_CREAT | syscall.O_RDWR, Mode: 0o100600}
}

// TestCreateOfExistingFile: the kernel has checked only that the caller may make
// entries in the directory, so the file must not be opened for it.
func TestCreateOfExistingFile(t *testing.T) {
	f, v := newFS(t)
	i := create(t, v, "f", nil)
	v.CloseFile(i)
	v.Release(i, 1)
	for _, tt := range []struct {
		name  string
		flags uint32
		want  fuse.Status
	}{
		{"whether or not it exists", 0, fuse.Status(syscall.ESTALE)}, // look again
		{"exclusively", syscall.O_EXCL, fuse.Status(syscall.EEXIST)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := f.Create(nil, createIn(tt.flags), "f", new(fuse.CreateOut)); got != tt.want {
				t.Errorf("Create = %v, want %v", got, tt.want)
			}
			if n := v.InUse(); n != 0 {
				t.Errorf("%d inodes are in use", n)
			}
		})
	}
}

// TestInodeNumbersOfEntries: a listing tells the numbers that attributes tell,
// in a tree on two devices too.
func TestInodeNumbersOfEntries(t *testing.T) {
	dir := newTree(t, keys.AES256XTS, keys.AES256CTS)
	v, done := openTree(t, dir, fs.Options{}, dirstore.Options{})
	lower := filepath.Join(dir, makeDir(t, v, "mounted"))
	header, err := os.ReadFile(filepath.Join(lower, ".encfs-dir"))
	if err != nil {
		t.Fatal(err)
	}
	done()
	if err := unix.Mount("none", lower, "tmpfs", 0, ""); err != nil {
		t.Log("only one device: cannot mount: ", err)
	} else {
		t.Cleanup(func() { unix.Unmount(lower, unix.MNT_DETACH) })
		if err := os.WriteFile(filepath.Join(lower, ".encfs-dir"), header, 0o444); err != nil {
			t.Fatal(err)
		}
	}
	v, _ = openTree(t, dir, fs.Options{}, dirstore.Options{})
	makeDir(t, v, "mounted/a")
	makeDir(t, v, "b")
	f, err := fs.NewFS(v)
	if err != nil {
		t.Fatal(err)
	}

	lookup := func(dir uint64, name string) fuse.EntryOut {
		var out fuse.EntryOut
		h := in(dir)
		if s := f.Lookup(nil, &h, name, &out); !s.Ok() || out.NodeId == 0 {
			t.Fatalf("Lookup(%q) = %v", name, s)
		}
		return out
	}
	sub := lookup(fuse.FUSE_ROOT_ID, "mounted")
	for _, tt := range []struct {
		name, entry string
		dir         uint64
		want        uint64
	}{
		{"on the root's device", "b", fuse.FUSE_ROOT_ID, lookup(fuse.FUSE_ROOT_ID, "b").Ino},
		{"on another", "a", sub.NodeId, lookup(sub.NodeId, "a").Ino},
		{"dot on another", ".", sub.NodeId, sub.Ino},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var open fuse.OpenOut
			if s := f.OpenDir(nil, &fuse.OpenIn{InHeader: in(tt.dir)}, &open); !s.Ok() {
				t.Fatal(s)
			}
			defer f.ReleaseDir(&fuse.ReleaseIn{Fh: open.Fh})
			out := fuse.NewDirEntryList(make([]byte, 4096), 0)
			if s := f.ReadDir(nil, &fuse.ReadIn{InHeader: in(tt.dir), Fh: open.Fh}, out); !s.Ok() {
				t.Fatal(s)
			}
			entries, err := fuse.ParseDirEntries(out.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			k := slices.IndexFunc(entries, func(e fuse.DirEntry) bool { return e.Name == tt.entry })
			if k < 0 || entries[k].Ino != tt.want {
				t.Errorf("entries are %v, want %q with number %d", entries, tt.entry, tt.want)
			}
		})
	}
}

// makeDir makes a directory and returns its lower path.
func makeDir(t *testing.T, v *fs.Volume, path string) string {
	t.Helper()
	parent, _, err := v.Walk(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	defer v.Release(parent, 1)
	i, _, err := v.Mkdir(parent, filepath.Base(path), 0o755, fs.AnyOwner)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Release(i, 1)
	return i.String()
}

// TestAllocationsOfRead: a READ allocates what its result is passed on in, and
// nothing for its data, whether or not the kernel opens files by itself.
func TestAllocationsOfRead(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop objects")
	}
	for _, shortcuts := range []bool{false, true} {
		f, v := newFS(t)
		if shortcuts {
			f.TakeShortcuts(func(uint64, []byte) fuse.Status { return fuse.OK })
		}
		i := create(t, v, "f", pattern(1<<20, 1))
		defer v.Release(i, 1)
		defer v.CloseFile(i)
		h := in(fuse.FUSE_ROOT_ID)
		var out fuse.EntryOut
		if s := f.Lookup(nil, &h, "f", &out); !s.Ok() {
			t.Fatal(s)
		}
		buf := make([]byte, 128<<10)
		for _, size := range []uint32{4096, 128 << 10} {
			req := &fuse.ReadIn{InHeader: in(out.NodeId), Size: size}
			if n := testing.AllocsPerRun(100, func() {
				if _, s := f.Read(nil, req, buf); !s.Ok() {
					t.Fatal(s)
				}
			}); n > 1 {
				t.Errorf("shortcuts %t: %v allocations for a READ of %d bytes", shortcuts, n, size)
			}
		}
	}
}
