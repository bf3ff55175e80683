package fs_test

import (
	"errors"
	"slices"
	"sync"
	"syscall"
	"testing"

	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/keys"
)

// TestSyncOfFileOpenForReading: sync(1) opens a file for reading only.
func TestSyncOfFileOpenForReading(t *testing.T) {
	v, faulty := faultyVolume(t, newTree(t, keys.AES256XTS, keys.AES256CTS))
	i := create(t, v, "f", pattern(5000, 1))
	defer v.Release(i, 1)
	if err := v.CloseFile(i); err != nil {
		t.Fatal(err)
	}
	if err := v.Open(i, false); err != nil {
		t.Fatal(err)
	}
	defer v.CloseFile(i)
	var got error = errors.New("the file of the store was not synced")
	faulty.fault = func(method string) error {
		if method == "Sync" {
			got = nil
			return syscall.EIO
		}
		return nil
	}
	err := v.Sync(i, false)
	if got != nil {
		t.Error(got)
	}
	if fs.Errno(err) != syscall.EIO {
		t.Errorf("Sync = %v, want the store's EIO", err)
	}
	faulty.fault = nil
	if err := v.Sync(i, true); err != nil {
		t.Errorf("Sync = %v", err)
	}
}

// TestErrnoOfOpenModes: what an inode was opened for decides what it can do, and
// an opening for writing serves the others too.
func TestErrnoOfOpenModes(t *testing.T) {
	dir := newTree(t, keys.AES256XTS, keys.AES256CTS)
	v, done := openTree(t, dir, fs.Options{}, dirstore.Options{})
	i := create(t, v, "f", pattern(5000, 1))
	v.CloseFile(i)
	buf := make([]byte, 10)
	check := func(what string, err error, want syscall.Errno) {
		t.Helper()
		if got := fs.Errno(err); got != want {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	_, err := v.ReadAt(i, buf, 0)
	check("read, not open", err, syscall.EBADF)
	_, err = v.WriteAt(i, buf, 0)
	check("write, not open", err, syscall.EBADF)
	_, err = v.Seek(i, 0, 3)
	check("seek, not open", err, syscall.EBADF)
	check("truncate, not open", v.Truncate(i, 4000), 0)

	check("open for reading", v.Open(i, false), 0)
	_, err = v.WriteAt(i, buf, 0)
	check("write, open for reading", err, syscall.EBADF)
	check("allocate, open for reading", v.Allocate(i, 0, 0, 10), syscall.EBADF)
	check("open for writing", v.Open(i, true), 0)
	_, err = v.WriteAt(i, buf, 0)
	check("write, open for both", err, 0)
	check("close", v.CloseFile(i), 0)
	_, err = v.ReadAt(i, buf, 0)
	check("read, open once", err, 0)

	for _, tt := range []struct {
		name string
		err  error
		want syscall.Errno
	}{
		{"truncate to less than nothing", v.Truncate(i, -1), syscall.EINVAL},
		{"truncate to the largest size and more", v.Truncate(i, fs.MaxSize+1), syscall.EFBIG},
		{"truncate to the largest number", v.Truncate(i, 1<<63-1), syscall.EFBIG},
		{"allocate nothing", v.Allocate(i, 0, 0, 0), syscall.EINVAL},
		{"allocate before the beginning", v.Allocate(i, 0, -1, 1), syscall.EINVAL},
		{"allocate past the largest number", v.Allocate(i, 0, 1<<62, 1<<62), syscall.EFBIG},
		{"allocate up to the largest number", v.Allocate(i, 0, 1, 1<<63-1), syscall.EFBIG},
		{"collapse a range", v.Allocate(i, 0x08, 0, 4096), syscall.EOPNOTSUPP},
	} {
		check(tt.name, tt.err, tt.want)
	}
	for _, off := range []int64{fs.MaxSize, fs.MaxSize - 5, 1<<63 - 1, 1<<63 - 10} {
		_, err = v.WriteAt(i, buf, off)
		check("write past the largest size", err, syscall.EFBIG)
	}
	_, err = v.ReadAt(i, buf, 1<<63-1)
	check("read at the largest number", err, 0)
	_, err = v.ReadAt(i, buf, -1)
	check("read before the beginning", err, syscall.EINVAL)
	if got := contents(t, v, i); len(got) != 4000 {
		t.Errorf("the file is %d bytes long, want 4000", len(got))
	}
	check("close", v.CloseFile(i), 0)
	v.Release(i, 1)
	done()

	v, _ = openTree(t, dir, fs.Options{ReadOnly: true}, dirstore.Options{ReadOnly: true})
	i, _, err = v.Lookup(v.Root(), "f")
	if err != nil {
		t.Fatal(err)
	}
	defer v.Release(i, 1)
	if !v.ReadOnly() {
		t.Error("ReadOnly() = false")
	}
	check("open for writing, read-only", v.Open(i, true), syscall.EROFS)
	check("open for reading, read-only", v.Open(i, false), 0)
	check("sync, read-only", v.Sync(i, false), 0)
	check("close", v.CloseFile(i), 0)
}

// TestSizeDuringChange looks a file up again and again while it is made longer
// and shorter. The store goes through sizes in between; the kernel would keep one
// of them for a day.
func TestSizeDuringChange(t *testing.T) {
	v := newVolume(t)
	i := create(t, v, "f", nil)
	defer v.Release(i, 1)
	defer v.CloseFile(i)
	sizes := []int64{0, 100, 5000, 4095, 4096, 200}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				j, a, err := v.Lookup(v.Root(), "f")
				if err != nil {
					t.Errorf("Lookup: %v", err)
					return
				}
				v.Release(j, 1)
				if !slices.Contains(sizes, a.Size) {
					t.Errorf("Lookup says %d bytes, which it never had", a.Size)
					return
				}
			}
		})
	}
	for range 50 {
		for k, size := range sizes {
			to := size
			if k%2 == 0 {
				to = 0
			}
			if err := v.Truncate(i, to); err != nil {
				t.Error(err)
			}
			if _, err := v.WriteAt(i, pattern(int(size-to), 1), 0); err != nil {
				t.Error(err)
			}
		}
	}
	close(stop)
	readers.Wait()
}
