package fs_test

import (
	"bytes"
	"errors"
	"syscall"
	"testing"

	"encfs/fs"
	"encfs/fs/store"
	"encfs/keys"
)

// TestReferences: whatever is done, who has given back what he got leaves
// nothing in use.
func TestReferences(t *testing.T) {
	v, faulty := faultyVolume(t, newTree(t, keys.AES256XTS, keys.AES256CTS))
	root := v.Root()
	release := func(i *fs.Inode, _ fs.Attr, err error) error {
		if err == nil {
			v.Release(i, 1)
		}
		return err
	}
	i := create(t, v, "file", pattern(100, 1))
	v.CloseFile(i)
	v.Release(i, 1)
	if err := release(v.Symlink(root, "link", "target", fs.AnyOwner)); err != nil {
		t.Fatal(err)
	}
	if err := release(v.Mkdir(root, "dir", 0o755, fs.AnyOwner)); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		name string
		do   func() error
		want syscall.Errno // 0: none
	}{
		{"lookup", func() error { return release(v.Lookup(root, "file")) }, 0},
		{"lookup of nothing", func() error { return release(v.Lookup(root, "none")) }, syscall.ENOENT},
		{"lookup in a file", func() error {
			i, _, err := v.Lookup(root, "file")
			if err != nil {
				return err
			}
			defer v.Release(i, 1)
			return release(v.Lookup(i, "x"))
		}, syscall.ENOTDIR},
		{"walk", func() error { return release(v.Walk("dir/../x")) }, syscall.EINVAL},
		{"walk down", func() error { return release(v.Walk("/dir/./")) }, 0},
		{"walk through a file", func() error { return release(v.Walk("file/x")) }, syscall.ENOTDIR},
		{"walk to nothing", func() error { return release(v.Walk("dir/x")) }, syscall.ENOENT},
		{"walk to the root", func() error { return release(v.Walk("")) }, 0},
		{"create what exists", func() error { return release(v.Create(root, "file", 0o600, fs.AnyOwner)) }, syscall.EEXIST},
		{"mkdir of what exists", func() error { return release(v.Mkdir(root, "file", 0o700, fs.AnyOwner)) }, syscall.EEXIST},
		{"symlink of what exists", func() error { return release(v.Symlink(root, "file", "x", fs.AnyOwner)) }, syscall.EEXIST},
		{"symlink to nothing", func() error { return release(v.Symlink(root, "x", "", fs.AnyOwner)) }, syscall.ENOENT},
		{"mknod of what exists", func() error { return release(v.Mknod(root, "file", store.ModeFIFO|0o600, 0, fs.AnyOwner)) }, syscall.EEXIST},
		{"mknod of a FIFO", func() error { return release(v.Mknod(root, "fifo", store.ModeFIFO|0o600, 0, fs.AnyOwner)) }, 0},
		{"mknod of a file", func() error { return release(v.Mknod(root, "made", store.ModeRegular|0o600, 0, fs.AnyOwner)) }, 0},
		{"mknod of a file that does not close", func() error {
			faulty.fault = func(string) error { return syscall.EDQUOT }
			defer func() { faulty.fault = nil }()
			return release(v.Mknod(root, "made2", store.ModeRegular|0o600, 0, fs.AnyOwner))
		}, syscall.EDQUOT},
		{"link", func() error {
			i, _, err := v.Lookup(root, "file")
			if err != nil {
				return err
			}
			defer v.Release(i, 1)
			_, err = v.Link(i, root, "second")
			return release(i, fs.Attr{}, err)
		}, 0},
		{"link to what exists", func() error {
			i, _, err := v.Lookup(root, "file")
			if err != nil {
				return err
			}
			defer v.Release(i, 1)
			_, err = v.Link(i, root, "link")
			return release(i, fs.Attr{}, err)
		}, syscall.EEXIST},
		{"open of a directory", func() error {
			i, _, err := v.Lookup(root, "dir")
			if err != nil {
				return err
			}
			defer v.Release(i, 1)
			return v.Open(i, false)
		}, syscall.EISDIR},
		{"a file open at the end", func() error {
			i, _, err := v.Lookup(root, "file")
			if err != nil {
				return err
			}
			defer v.Release(i, 1)
			return errors.Join(v.Open(i, false), v.Open(i, true))
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.do(); fs.Errno(err) != tt.want {
				t.Errorf("error %v, want errno %v", err, tt.want)
			}
			if n := v.InUse(); n != 0 {
				t.Errorf("%d inodes are in use", n)
			}
		})
	}
}

func TestReleaseTooOften(t *testing.T) {
	v := newVolume(t)
	i := create(t, v, "f", nil)
	v.CloseFile(i)
	if v.Release(i, 1) != true {
		t.Error("Release of the last reference = false")
	}
	// It is another inode that the node has now, and must keep.
	j, _, err := v.Lookup(v.Root(), "f")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a second Release did not panic")
		}
		if k, _, err := v.Lookup(v.Root(), "f"); err != nil || k != j {
			t.Errorf("after it the object has another inode, %v", err)
		}
	}()
	v.Release(i, 1)
}

// TestFoundBeforeCreateReturns lets somebody else write to a new file between
// the moment when the store has it and the end of Create.
func TestFoundBeforeCreateReturns(t *testing.T) {
	for _, stays := range []bool{false, true} {
		name := map[bool]string{false: "closed again", true: "still open"}[stays]
		t.Run(name, func(t *testing.T) {
			v, faulty := faultyVolume(t, newTree(t, keys.AES256XTS, keys.AES256CTS))
			var other *fs.Inode
			faulty.created = func(store.Node) {
				var err error
				if other, _, err = v.Lookup(v.Root(), "f"); err != nil {
					t.Fatal(err)
				}
				if err := v.Open(other, true); err != nil {
					t.Fatal(err)
				}
				if _, err := v.WriteAt(other, pattern(5000, 1), 0); err != nil {
					t.Fatal(err)
				}
				if !stays {
					v.CloseFile(other)
					v.Release(other, 1)
				}
			}
			i, _, err := v.Create(v.Root(), "f", 0o600, fs.AnyOwner)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := v.WriteAt(i, []byte{9}, 6000); err != nil {
				t.Fatal(err)
			}
			want := append(append(pattern(5000, 1), make([]byte, 1000)...), 9)
			if got := contents(t, v, i); !bytes.Equal(got, want) {
				t.Errorf("contents differ, %d bytes", len(got))
			}
			v.CloseFile(i)
			v.Release(i, 1)
			if stays {
				v.CloseFile(other)
				v.Release(other, 1)
			}
			if n := v.InUse(); n != 0 {
				t.Errorf("%d inodes are in use", n)
			}
		})
	}
}
