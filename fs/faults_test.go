package fs_test

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/fs/store"
	"encfs/keys"
)

// A faultyStore is a directory store whose files fail when told to.
type faultyStore struct {
	*dirstore.Store
	// fault is called before each method of a FileWriter that changes the file
	// or waits for the disk, and by Close. If it returns an error the method does not happen,
	// except that a WriteUnits of several units writes half of them and that a
	// Close closes.
	fault func(method string) error
	// created is called by Create when the file is there.
	created func(node store.Node)
}

func (s *faultyStore) Open(node store.Node, write bool) (store.File, error) {
	f, err := s.Store.Open(node, write)
	if err != nil || !write {
		return f, err
	}
	return &faultyFile{f.(store.FileWriter), s}, nil
}

func (s *faultyStore) Create(dir store.Node, name []byte, mode uint32, owner store.Owner) (store.Node, store.Attr, store.FileWriter, error) {
	n, a, f, err := s.Store.Create(dir, name, mode, owner)
	if err != nil {
		return n, a, f, err
	}
	if s.created != nil {
		s.created(n)
	}
	return n, a, &faultyFile{f, s}, nil
}

type faultyFile struct {
	store.FileWriter
	s *faultyStore
}

func (f *faultyFile) fault(method string) error {
	if f.s.fault == nil {
		return nil
	}
	return f.s.fault(method)
}

func (f *faultyFile) WriteInline(ct []byte, size int64) error {
	if err := f.fault("WriteInline"); err != nil {
		return err
	}
	return f.FileWriter.WriteInline(ct, size)
}

func (f *faultyFile) WriteUnits(ct []byte, first uint64, size int64) (int, error) {
	err := f.fault("WriteUnits")
	if err == nil {
		return f.FileWriter.WriteUnits(ct, first, size)
	}
	half := len(ct) / 4096 / 2
	if half == 0 {
		return 0, err
	}
	n, halfErr := f.FileWriter.WriteUnits(ct[:half*4096], first, min(size, (int64(first)+int64(half))*4096))
	if halfErr != nil {
		err = halfErr
	}
	return n, err
}

func (f *faultyFile) Truncate(size int64) error {
	if err := f.fault("Truncate"); err != nil {
		return err
	}
	return f.FileWriter.Truncate(size)
}

func (f *faultyFile) Punch(first, n uint64) error {
	if err := f.fault("Punch"); err != nil {
		return err
	}
	return f.FileWriter.Punch(first, n)
}

func (f *faultyFile) Allocate(first, n uint64) error {
	if err := f.fault("Allocate"); err != nil {
		return err
	}
	return f.FileWriter.Allocate(first, n)
}

func (f *faultyFile) Sync(dataOnly bool) error {
	if err := f.fault("Sync"); err != nil {
		return err
	}
	return f.FileWriter.Sync(dataOnly)
}

func (f *faultyFile) Close() error {
	err := f.FileWriter.Close()
	if faultErr := f.fault("Close"); faultErr != nil {
		err = faultErr
	}
	return err
}

// faultyVolume opens a tree made by newTree through a faultyStore.
func faultyVolume(t testing.TB, dir string) (*fs.Volume, *faultyStore) {
	t.Helper()
	st, err := dirstore.Open(dir, dirstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	k := testKey(t, "test")
	if err := st.Unlock(fs.NewHeaderAuthenticator(k)); err != nil {
		t.Fatal(err)
	}
	ring := new(keys.Keyring)
	ring.Add(k)
	faulty := &faultyStore{Store: st}
	v, err := fs.NewVolume(faulty, ring, fs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v, faulty
}

// TestNoSpaceAtEachStep lets each step of each change run out of space. A change
// that fails has not changed the size, except that a write may have written the
// beginning of its data and says so; each byte is what it was or what it should
// become; and once there is space the same change succeeds.
func TestNoSpaceAtEachStep(t *testing.T) {
	const punch, zeroRange = 0x02 | 0x01, 0x10
	grow := func(b []byte, n int) []byte { return append(b, make([]byte, max(0, n-len(b)))...) }
	type change struct {
		name  string
		do    func(v *fs.Volume, i *fs.Inode) (int, error)
		model func(b []byte, n int) []byte // n: what do returned
	}
	write := func(n, off int) change {
		data := pattern(n, 9)
		return change{fmt.Sprintf("write %d at %d", n, off),
			func(v *fs.Volume, i *fs.Inode) (int, error) { return v.WriteAt(i, data, int64(off)) },
			func(b []byte, n int) []byte {
				if n == 0 {
					return b
				}
				b = grow(b, off+n)
				copy(b[off:], data[:n])
				return b
			}}
	}
	truncate := func(size int) change {
		return change{fmt.Sprintf("truncate to %d", size),
			func(v *fs.Volume, i *fs.Inode) (int, error) { return 1, v.Truncate(i, int64(size)) },
			func(b []byte, _ int) []byte { return grow(b, size)[:size] }}
	}
	zero := func(mode uint32, off, n int) change {
		return change{fmt.Sprintf("fallocate %#x %d at %d", mode, n, off),
			func(v *fs.Volume, i *fs.Inode) (int, error) { return 1, v.Allocate(i, mode, int64(off), int64(n)) },
			func(b []byte, _ int) []byte {
				if mode&1 == 0 {
					b = grow(b, off+n)
				}
				if off < len(b) && mode != 0 {
					clear(b[off:min(off+n, len(b))])
				}
				return b
			}}
	}
	changes := []change{
		write(100, 0), write(1, 3951), write(1, 3952), write(5000, 10), write(10, 4090), write(3, 20000),
		write(8192, 4096), write(40000, 100),
		truncate(0), truncate(1), truncate(100), truncate(3952), truncate(3953), truncate(4096), truncate(4097),
		truncate(9000), truncate(30000),
		zero(0, 0, 20000), zero(punch, 0, 50), zero(punch, 100, 12000), zero(punch, 4096, 4096), zero(zeroRange, 5000, 20000),
	}
	v, faulty := faultyVolume(t, newTree(t, keys.AES256XTS, keys.AES256CTS))
	for _, size := range []int{0, 100, 3952, 3953, 4096, 9000, 20000} {
		for _, c := range changes {
			t.Run(fmt.Sprint(size, "/", c.name), func(t *testing.T) {
				for step := 0; ; step++ {
					before := pattern(size, 1)
					i := create(t, v, "f", before)
					calls, reached := 0, ""
					faulty.fault = func(method string) error {
						if method == "Close" {
							return nil
						}
						calls++
						if calls == step+1 {
							reached = method
							return syscall.ENOSPC
						}
						return nil
					}
					n, err := c.do(v, i)
					faulty.fault = nil
					after := c.model(bytes.Clone(before), n)
					got := contents(t, v, i)
					if a, attrErr := v.Attr(i); attrErr != nil || a.Size != int64(len(got)) {
						t.Errorf("step %d, %s: Attr says %d bytes, %v; there are %d", step, reached, a.Size, attrErr, len(got))
					}
					switch {
					case err == nil && !bytes.Equal(got, after):
						t.Fatalf("step %d, %s: no error, but contents differ from what they should be", step, reached)
					case err != nil && fs.Errno(err) != syscall.ENOSPC:
						t.Errorf("step %d, %s: %v, want ENOSPC", step, reached, err)
					case err != nil && len(got) != size:
						t.Errorf("step %d, %s: failed, but the size changed from %d to %d", step, reached, size, len(got))
					case err != nil:
						for k, b := range got {
							if b != before[k] && (k >= len(after) || b != after[k]) {
								t.Fatalf("step %d, %s: byte %d is neither old nor new", step, reached, k)
							}
						}
					}
					if n, err = c.do(v, i); err != nil {
						t.Errorf("step %d, %s: again: %v", step, reached, err)
					}
					if want := c.model(bytes.Clone(before), n); !bytes.Equal(contents(t, v, i), want) {
						t.Errorf("step %d, %s: again: contents differ", step, reached)
					}
					if err := v.Truncate(i, 50000); err != nil {
						t.Fatal(err)
					}
					if want := grow(c.model(bytes.Clone(before), n), 50000)[:50000]; !bytes.Equal(contents(t, v, i), want) {
						t.Errorf("step %d, %s: what was past the end has come back", step, reached)
					}
					v.CloseFile(i)
					v.Release(i, 1)
					if err := v.Unlink(v.Root(), "f"); err != nil {
						t.Fatal(err)
					}
					if reached == "" {
						return
					}
				}
			})
		}
	}
}

// TestTailAfterShrinking lets the second step of shrinking fail, as if a crash
// came before it: what was cut off is still in the last data unit, and does not
// come back whatever makes the file longer.
func TestTailAfterShrinking(t *testing.T) {
	const punch, zeroRange = 0x02 | 0x01, 0x10
	v, faulty := faultyVolume(t, newTree(t, keys.AES256XTS, keys.AES256CTS))
	write := func(off int64) func(i *fs.Inode) error {
		return func(i *fs.Inode) error { _, err := v.WriteAt(i, []byte{0}, off); return err }
	}
	for _, tt := range []struct {
		name string
		grow func(i *fs.Inode) error
		size int
	}{
		{"not at all", func(*fs.Inode) error { return nil }, 5000},
		{"truncate in the unit", func(i *fs.Inode) error { return v.Truncate(i, 6000) }, 6000},
		{"truncate to its end", func(i *fs.Inode) error { return v.Truncate(i, 8192) }, 8192},
		{"truncate past it", func(i *fs.Inode) error { return v.Truncate(i, 20000) }, 20000},
		{"truncate to the same size, then past it", func(i *fs.Inode) error {
			return errors.Join(v.Truncate(i, 5000), v.Truncate(i, 20000))
		}, 20000},
		{"write in the unit", write(6000), 6001},
		{"write behind it", write(8192), 8193},
		{"write far behind it", write(20000), 20001},
		{"write before the end, then behind it", func(i *fs.Inode) error {
			return errors.Join(v.Allocate(i, punch, 4096, 4), write(4999)(i), write(8192)(i))
		}, 8193},
		{"fallocate", func(i *fs.Inode) error { return v.Allocate(i, 0, 5000, 5000) }, 10000},
		{"zero a range", func(i *fs.Inode) error { return v.Allocate(i, zeroRange, 5500, 5000) }, 10500},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := pattern(9000, 1)
			i := create(t, v, "f", want)
			defer v.Release(i, 1)
			defer v.CloseFile(i)
			defer v.Unlink(v.Root(), "f")
			faulty.fault = func(method string) error {
				if method == "WriteUnits" {
					return syscall.EIO
				}
				return nil
			}
			err := v.Truncate(i, 5000)
			faulty.fault = nil
			if err != nil {
				t.Fatal(err)
			}
			if err := tt.grow(i); err != nil {
				t.Fatal(err)
			}
			got := contents(t, v, i)
			if len(got) != tt.size || len(bytes.Trim(got[5000:], "\x00")) > 0 {
				t.Errorf("%d bytes, want %d, and zeros from 5000 on", len(got), tt.size)
			}
		})
	}
}
