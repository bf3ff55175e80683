package fs_test

import (
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"

	"encfs/fs"
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
