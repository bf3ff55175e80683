package test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestTruncateWhileOpenElsewhere cuts and grows files by path that another
// process, as far as the file system can tell, has open for reading only.
func TestTruncateWhileOpenElsewhere(t *testing.T) {
	tr := mountedTree(t)
	for _, from := range edges {
		for _, to := range edges {
			p := tr.plant("file", pattern(from, 1))
			f, err := os.Open(p)
			if err != nil {
				t.Fatal(err)
			}
			first := make([]byte, 10)
			f.ReadAt(first, 0) // so that something is cached
			if err := os.Truncate(p, int64(to)); err != nil {
				t.Fatalf("%d to %d: %v", from, to, err)
			}
			want := append(pattern(from, 1)[:min(from, to)], make([]byte, max(0, to-from))...)
			got := make([]byte, to+10)
			n, _ := f.ReadAt(got, 0)
			sameBytes(t, fmt.Sprintf("%d cut to %d, by the open file", from, to), got[:n], want)
			if fi, err := f.Stat(); err != nil || fi.Size() != int64(to) {
				t.Errorf("%d cut to %d: fstat says %v, %v", from, to, fi.Size(), err)
			}
			f.Close()
			wantFile(t, p, want)
			os.Remove(p)
		}
	}
}

// TestReadersRaceWithGrowth reads a file that grows and shrinks: a byte is what
// was written or zero, never anything else.
func TestReadersRaceWithGrowth(t *testing.T) {
	tr := mountedTree(t)
	data := pattern(40000, 1)
	p := tr.plant("file", data[:100])
	var stop atomic.Bool
	var group sync.WaitGroup
	defer group.Wait()
	defer stop.Store(true)
	for k := range 3 {
		group.Go(func() {
			f, err := os.Open(p)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			buf := make([]byte, 9000)
			for off := int64(k * 1000); !stop.Load(); off = (off + 4999) % 40000 {
				n, err := f.ReadAt(buf, off)
				if err != nil && n == len(buf) {
					t.Errorf("read: %v", err)
					return
				}
				for i, b := range buf[:n] {
					if b != 0 && b != data[off+int64(i)] {
						t.Errorf("byte %d is %#x, neither zero nor the %#x written there", off+int64(i), b, data[off+int64(i)])
						return
					}
				}
			}
		})
	}
	w, err := os.OpenFile(p, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		switch size := edges[r.IntN(len(edges))]; r.IntN(3) {
		case 0, 1:
			err = w.Truncate(int64(min(size, 40000)))
		default:
			from := r.IntN(39000)
			_, err = w.WriteAt(data[from:from+1+r.IntN(1000)], int64(from))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestManyReadersSeek compares what many readers find at random places of one
// file with the source.
func TestManyReadersSeek(t *testing.T) {
	tr := mountedTree(t)
	data := pattern(3<<20+123, 9)
	p := tr.plant("file", data)
	tr.remount()
	var group sync.WaitGroup
	for k := range 64 {
		group.Go(func() {
			f, err := os.Open(p)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			r := rand.New(rand.NewPCG(uint64(k), 0))
			for range 40 {
				off := r.IntN(len(data))
				buf := make([]byte, 1+r.IntN(200000))
				if r.IntN(2) == 0 {
					off = off / 4096 * 4096
				}
				n, _ := f.ReadAt(buf, int64(off))
				want := data[off:min(off+len(buf), len(data))]
				if !bytes.Equal(buf[:n], want) {
					sameBytes(t, fmt.Sprintf("%d bytes at %d", len(buf), off), buf[:n], want)
					return
				}
			}
		})
	}
	group.Wait()
}

func TestUnlinkedFileGoesOn(t *testing.T) {
	tr := mountedTree(t)
	p := tr.plant("file", pattern(5000, 1))
	f, err := os.OpenFile(p, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Remove(p); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Nlink != 0 || st.Size != 5000 {
		t.Errorf("fstat: %d links, size %d, %v", st.Nlink, st.Size, err)
	}
	for _, step := range []struct {
		what string
		err  error
	}{
		{"fchmod", f.Chmod(0o600)},
		{"ftruncate", f.Truncate(3000)},
		{"fsync", f.Sync()},
		{"futimens", unix.UtimesNanoAt(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), make([]unix.Timespec, 2), 0)},
		{"fsetxattr", unix.Fsetxattr(int(f.Fd()), "user.a", []byte("b"), 0)},
	} {
		if step.err != nil {
			t.Errorf("%s of an unlinked file: %v", step.what, step.err)
		}
	}
	if _, err := f.WriteAt(pattern(100, 2), 2950); err != nil {
		t.Error(err)
	}
	want := append(pattern(2950, 1), pattern(100, 2)...)
	got := make([]byte, 4000)
	n, _ := f.ReadAt(got, 0)
	sameBytes(t, "unlinked file", got[:n], want)
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Mode&0o777 != 0o600 || st.Size != 3050 {
		t.Errorf("fstat: mode %#o, size %d, %v", st.Mode, st.Size, err)
	}
	// Its name is free for another file.
	tr.plant("file", []byte("new"))
	wantFile(t, p, []byte("new"))
	// It cannot be given a name again.
	err = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), unix.AT_FDCWD, tr.path("again"), unix.AT_SYMLINK_FOLLOW)
	wantErrno(t, "linkat of an unlinked file", err, unix.ENOENT)
}

// TestSparse checks that growing takes no space, and that holes are holes below.
func TestSparse(t *testing.T) {
	tr := mountedTree(t)
	for _, size := range []int64{4096, 8192, 1 << 20, 1 << 40, 8 << 40} {
		p := tr.plant("file", nil)
		if err := os.Truncate(p, size); err != nil {
			t.Errorf("truncate to %d: %v", size, err)
			continue
		}
		var st unix.Stat_t
		if err := unix.Stat(p, &st); err != nil || st.Size != size || st.Blocks > 16 {
			t.Errorf("size %d, %d blocks, %v; want %d and next to no blocks", st.Size, st.Blocks, err, size)
		}
		f, err := os.OpenFile(p, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte{1}, size-1); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if err := unix.Stat(p, &st); err != nil || st.Blocks > 32 {
			t.Errorf("a byte at the end of %d: %d blocks, %v", size, st.Blocks, err)
		}
		os.Remove(p)
	}
}

// TestTimesSurvive checks that no change of times comes later than the program
// that set them: closing a file, and mounting again, change none.
func TestTimesSurvive(t *testing.T) {
	tr := mountedTree(t)
	want := map[string]time.Time{}
	for _, size := range edges {
		p := tr.path(fmt.Sprint(size))
		f, err := os.Create(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(pattern(size, 1)); err != nil {
			t.Fatal(err)
		}
		if size%2 == 0 { // as cp -p does it: before the file is closed
			when := time.Unix(1000000000+int64(size), 123456789)
			ts := unix.NsecToTimespec(when.UnixNano())
			if err := unix.UtimesNanoAt(unix.AT_FDCWD, p, []unix.Timespec{ts, ts}, 0); err != nil {
				t.Fatal(err)
			}
		}
		fi, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		want[p] = fi.ModTime()
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, when := range []string{"closed", "mounted again"} {
		for p, mtime := range want {
			if fi, err := os.Stat(p); err != nil || !fi.ModTime().Equal(mtime) {
				t.Errorf("%s %s: mtime %v, want %v", filepath.Base(p), when, fi.ModTime(), mtime)
			}
			wantFile(t, p, pattern(atoi(t, filepath.Base(p)), 1)) // opens and closes it
		}
		if when == "closed" {
			tr.remount()
		}
	}
}

func atoi(t testing.TB, s string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestSharedMap lets two processes see each other's writes to a mapped file.
func TestSharedMap(t *testing.T) {
	tr := mountedTree(t)
	p := tr.plant("file", make([]byte, 10000))
	f, err := os.OpenFile(p, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	m, err := unix.Mmap(int(f.Fd()), 0, 10000, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	copy(m[5000:], "from the parent")
	if out, err := helper("mmap", p).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := string(m[9000:9014]); got != "from the child" {
		t.Errorf("the map shows %q", got)
	}
	want := make([]byte, 10000)
	copy(want[5000:], "from the parent")
	copy(want[9000:], "from the child")
	wantFile(t, p, want) // by read, while it is mapped
	if err := errors.Join(unix.Munmap(m), f.Close()); err != nil {
		t.Fatal(err)
	}
	tr.remount()
	wantFile(t, p, want)
}

func mmapHelper(args []string) error {
	f, err := os.OpenFile(args[0], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	m, err := unix.Mmap(int(f.Fd()), 0, 10000, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	if got := string(m[5000:5015]); got != "from the parent" {
		return fmt.Errorf("the map shows %q", got)
	}
	copy(m[9000:], "from the child")
	return unix.Munmap(m)
}

// TestFreshNonces checks that no two files share a nonce, copies included.
func TestFreshNonces(t *testing.T) {
	tr := mountedTree(t)
	tr.plant("a", pattern(5000, 1))
	for _, cp := range [][]string{{"cp", "--reflink=auto"}, {"cp", "-p"}, {"cp", "--sparse=always"}} {
		name := strings.Join(cp, "")
		if out, err := exec.Command(cp[0], append(cp[1:], tr.path("a"), tr.path(name))...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cp, err, out)
		}
		wantFile(t, tr.path(name), pattern(5000, 1))
	}
	os.Truncate(tr.plant("again", pattern(5000, 1)), 0)
	tr.plant("again", pattern(5000, 1))
	seen := map[string]string{}
	filepath.WalkDir(tr.cipher, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || strings.Contains(path, ".fscrypt") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil || len(b) < 128 {
			return err
		}
		nonce := string(b[16+24 : 16+40])
		if other := seen[nonce]; other != "" {
			t.Errorf("%s and %s have the same nonce", path, other)
		}
		seen[nonce] = path
		return nil
	})
	if len(seen) < 5 {
		t.Errorf("only %d headers found", len(seen))
	}
	out, err := exec.Command("cp", "--reflink=always", tr.path("a"), tr.path("reflink")).CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("not supported")) {
		t.Errorf("cp --reflink=always: %v, %q; want it to say that this is not supported", err, out)
	}
}
