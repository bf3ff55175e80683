package fs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/keys"
	"encfs/workqueue"
)

// mountVolume mounts a volume. The returned function unmounts it.
func mountVolume(t testing.TB, v *fs.Volume, o fs.MountOptions) (point string, unmount func()) {
	t.Helper()
	needFUSE(t)
	point = t.TempDir()
	s, err := fs.Mount(v, point, o)
	if err != nil {
		t.Fatal(err)
	}
	return point, unmounter(t, s.Unmount)
}

// needFUSE skips a test where nothing can be mounted.
func needFUSE(t testing.TB) {
	t.Helper()
	if fuse, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0); err != nil {
		t.Skip("needs /dev/fuse: ", err)
	} else {
		fuse.Close()
	}
	if _, err := exec.LookPath("fusermount3"); err != nil && os.Geteuid() != 0 {
		t.Skip("needs root or fusermount3")
	}
}

// unmounter returns a function that unmounts, which is called at the end of the
// test at the latest.
func unmounter(t testing.TB, try func() error) func() {
	mounted := true
	unmount := func() {
		if mounted {
			mounted = false
			var err error
			for range 100 { // who else looked at the mount may do so still
				if err = try(); err == nil {
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
			t.Error(err)
		}
	}
	t.Cleanup(unmount)
	return unmount
}

// waitForGoroutines fails the test if more goroutines than before go on.
func waitForGoroutines(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<16)
			t.Fatalf("goroutines are left:\n%s", stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// The counters of a mount are those of the requests that were made, and nothing is
// left when it has ended.
func TestStatsOfMount(t *testing.T) {
	const size = 3<<20 + 777
	dir := newTree(t, keys.AES256XTS, keys.AES256CTS)
	v, done := openTree(t, dir, fs.Options{}, dirstore.Options{})
	i := create(t, v, "big", pattern(size, 1))
	v.CloseFile(i)
	v.Release(i, 1)
	done()
	if s := v.Stats(); len(s.Requests) != 0 || s.BytesWritten != 0 {
		t.Errorf("without a mount: %v requests, %d bytes written", s.Requests, s.BytesWritten)
	}

	q, err := workqueue.New(workqueue.Attrs{Kind: workqueue.Auto})
	if err != nil {
		t.Fatal(err)
	}
	v, done = openTree(t, dir, fs.Options{Queue: q}, dirstore.Options{})
	before := runtime.NumGoroutine()
	point, unmount := mountVolume(t, v, fs.MountOptions{Control: "/the/socket"})
	path := func(name string) string { return filepath.Join(point, name) }
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		check(os.Mkdir(path(name), 0o755))
	}
	check(os.Remove(path("c")))
	check(os.Symlink("a", path("link")))
	check(os.Rename(path("a"), path("d")))
	check(os.WriteFile(path("f"), pattern(5000, 1), 0o644))
	check(os.Link(path("f"), path("g")))
	check(os.Remove(path("g")))
	check(unix.Setxattr(path("f"), "user.x", []byte("y"), 0))
	check(unix.Removexattr(path("f"), "user.x"))
	data, err := os.ReadFile(path("big"))
	check(err)
	if len(data) != size {
		t.Errorf("read %d bytes of %d", len(data), size)
	}
	buf := make([]byte, 1000)
	n, err := unix.Getxattr(point, fs.StatusXattr, buf)
	if err != nil || !strings.Contains(string(buf[:n]), `"control":"/the/socket"`) {
		t.Errorf("status is %s, %v", buf[:n], err)
	}

	s := v.Stats()
	for op, want := range map[string]uint64{
		"MKDIR": 3, "RMDIR": 1, "SYMLINK": 1, "CREATE": 1, "LINK": 1, "UNLINK": 1,
		"SETXATTR": 1, "REMOVEXATTR": 1, "WRITE": 1,
	} {
		if got := s.Requests[op]; got != want {
			t.Errorf("%d requests of %s, want %d", got, op, want)
		}
		if l := s.Latency[op]; l.Count() != want || l.Quantile(0.5) <= 0 {
			t.Errorf("%d requests of %s were timed, median %v", l.Count(), op, l.Quantile(0.5))
		}
	}
	if got := s.Requests["RENAME"] + s.Requests["RENAME2"]; got != 1 {
		t.Errorf("%d requests of RENAME and RENAME2, want 1", got)
	}
	if s.BytesRead != size || s.BytesWritten != 5000 {
		t.Errorf("%d bytes read and %d written, want %d and 5000", s.BytesRead, s.BytesWritten, size)
	}
	reads := s.Requests["READ"]
	if reads < 3 || s.Queue.Inline != reads || s.LowerRead.Count() == 0 || s.Decrypt.Count() == 0 {
		t.Errorf("%d reads, %d items inline, %d reads of the store timed, %d decrypted",
			reads, s.Queue.Inline, s.LowerRead.Count(), s.Decrypt.Count())
	}

	unmount()
	done()
	q.Close()
	waitForGoroutines(t, before)
}

// BenchmarkMountRead measures a read of 4 KiB through FUSE, of which counting is a
// part.
func BenchmarkMountRead(b *testing.B) {
	v, _ := openTree(b, newTree(b, keys.AES256XTS, keys.AES256CTS), fs.Options{}, dirstore.Options{})
	i := create(b, v, "f", pattern(1<<20, 1))
	v.CloseFile(i)
	v.Release(i, 1)
	point, _ := mountVolume(b, v, fs.MountOptions{})
	f, err := os.OpenFile(filepath.Join(point, "f"), os.O_RDONLY|syscall.O_DIRECT, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	buf, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		b.Fatal(err)
	}
	defer unix.Munmap(buf)
	for n := 0; b.Loop(); n++ {
		if _, err := f.ReadAt(buf, int64(n%256)*4096); err != nil {
			b.Fatal(err)
		}
	}
}
