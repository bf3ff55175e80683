package test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// smallDisks are file systems of some MiB to put a cipher directory on.
var smallDisks = []struct {
	name  string
	mount func(t *testing.T, point string)
}{
	{"tmpfs", func(t *testing.T, point string) {
		if err := unix.Mount("encfs-test", point, "tmpfs", 0, "size=8m"); err != nil {
			t.Skipf("no tmpfs: %v", err)
		}
	}},
	{"ext4", func(t *testing.T, point string) {
		mkfs := needTool(t, "mkfs.ext4")
		image := filepath.Join(tempDir(t), "image")
		if err := os.WriteFile(image, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(image, 16<<20); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(mkfs, "-q", "-m", "0", image).CombinedOutput(); err != nil {
			t.Fatalf("mkfs: %v\n%s", err, out)
		}
		if out, err := exec.Command("mount", "-o", "loop", image, point).CombinedOutput(); err != nil {
			t.Skipf("no loop devices: %v, %s", err, out)
		}
	}},
}

// smallDisk mounts one of them and unmounts it at the end.
func smallDisk(t *testing.T, mount func(*testing.T, string)) string {
	t.Helper()
	needRoot(t)
	point := filepath.Join(tempDir(t), "disk")
	if err := os.Mkdir(point, 0o755); err != nil {
		t.Fatal(err)
	}
	mount(t, point)
	t.Cleanup(func() {
		if err := unix.Unmount(point, 0); err != nil {
			t.Errorf("unmount of the lower file system: %v", err)
			detach(point)
		}
	})
	return point
}

func forEachSmallDisk(t *testing.T, test func(t *testing.T, disk string)) {
	needFUSE(t)
	for _, d := range smallDisks {
		t.Run(d.name, func(t *testing.T) { test(t, smallDisk(t, d.mount)) })
	}
}

// TestFull fills the lower file system: the writer is told, nothing that was
// there suffers, and room can be made again.
func TestFull(t *testing.T) {
	forEachSmallDisk(t, func(t *testing.T, disk string) {
		tr := newTreeIn(t, disk)
		tr.mount()
		old := map[string][]byte{}
		for _, size := range edges {
			name := fmt.Sprintf("old-%d", size)
			old[name] = pattern(size, 3)
			tr.plant(name, old[name])
		}
		if err := os.Mkdir(tr.path("dir"), 0o755); err != nil {
			t.Fatal(err)
		}

		// Fill it, with units that tell where they belong.
		fill, err := os.Create(tr.path("fill"))
		if err != nil {
			t.Fatal(err)
		}
		defer fill.Close()
		var written int64
		for err == nil {
			var n int
			n, err = unix.Pwrite(int(fill.Fd()), unitsFrom(written, 100000), written)
			written += int64(max(0, n))
		}
		wantErrno(t, "write to a full disk", err, unix.ENOSPC)
		if written < 1<<20 {
			t.Fatalf("full after %d bytes", written)
		}
		for n := 1000; n > 0; n /= 2 { // the last blocks
			for {
				f, err := os.OpenFile(tr.path(fmt.Sprint("small-", n)), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
				if err != nil {
					break
				}
				_, err = f.Write(pattern(n, 1))
				f.Close()
				if err != nil {
					wantErrno(t, "append", errnoOf(err), unix.ENOSPC)
					break
				}
			}
		}

		// What needs more room fails and changes nothing.
		check := func(when string) {
			t.Helper()
			for name, want := range old {
				got, err := os.ReadFile(tr.path(name))
				if err != nil {
					t.Errorf("%s: %v", when, err)
				}
				sameBytes(t, when+": "+name, got, want)
			}
			checkUnits(t, when, tr.path("fill"), written)
		}
		check("full")
		for name, want := range old {
			for _, off := range []int{0, len(want) / 2, len(want), len(want) + 10000} {
				f, err := os.OpenFile(tr.path(name), os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				// Long enough that it cannot fit.
				data := bytes.Repeat(pattern(1<<16, 7), 400)
				n, err := unix.Pwrite(int(f.Fd()), data, int64(off))
				if n < 0 {
					wantErrno(t, "write", err, unix.ENOSPC)
					n = 0
				}
				if n == len(data) {
					t.Errorf("%s: %d bytes fit on a full disk", name, n)
				}
				if n > 0 {
					want = append(want, make([]byte, max(0, off-len(want)))...)
					want = append(want[:off:off], data[:n]...)
					if tail := old[name]; off+n < len(tail) {
						want = append(want, tail[off+n:]...)
					}
				}
				f.Close()
				old[name] = want
				got, err := os.ReadFile(tr.path(name))
				if err != nil {
					t.Error(err)
				}
				sameBytes(t, fmt.Sprintf("%s after a write of which %d bytes fit at %d", name, n, off), got, want)
				if t.Failed() {
					t.FailNow()
				}
			}
		}
		mkdirFull(t, tr)
		check("full, after all that failed")
		fill.Close()
		tr.remount()
		check("mounted again")

		// Room can be made.
		if err := os.Truncate(tr.path("fill"), written/2/4096*4096+1234); err != nil {
			t.Errorf("truncate on a full disk: %v", err)
		}
		written = written/2/4096*4096 + 1234
		check("cut")
		for _, p := range []string{"fill", "dir"} {
			if err := os.Remove(tr.path(p)); err != nil {
				t.Errorf("remove on a full disk: %v", err)
			}
		}
		wantFile(t, tr.plant("new", pattern(100000, 1)), pattern(100000, 1))
		if out, err := exec.Command("sh", "-c", "rm -r "+tr.root+"/*").CombinedOutput(); err != nil {
			t.Errorf("rm -r: %v\n%s", err, out)
		}
		tr.umount()
		wantNoTemporaries(t, tr)
	})
}

// mkdirFull makes directories until there is no room: each is there as a whole
// or not at all.
func mkdirFull(t *testing.T, tr *tree) {
	t.Helper()
	made := 0
	for ; made < 20000; made++ {
		if err := os.Mkdir(tr.path("dir", fmt.Sprint(made)), 0o755); err != nil {
			wantErrno(t, "mkdir", errnoOf(err), unix.ENOSPC)
			break
		}
	}
	entries, err := os.ReadDir(tr.path("dir"))
	if err != nil || len(entries) != made {
		t.Errorf("%d directories, %v, of %d", len(entries), err, made)
	}
	for _, e := range entries {
		if _, err := os.ReadDir(tr.path("dir", e.Name())); err != nil {
			t.Error(err)
		}
		if err := os.Remove(tr.path("dir", e.Name())); err != nil {
			t.Error(err)
		}
	}
}

// unitsFrom returns n bytes of an endless file in which every 8 bytes tell
// their place.
func unitsFrom(off int64, n int) []byte {
	first := off / 8 * 8
	b := make([]byte, 0, n+16)
	for at := first; len(b) < n+8; at += 8 {
		b = append(b, byte(at), byte(at>>8), byte(at>>16), byte(at>>24), 'p', 'l', 'a', 'c')
	}
	return b[off-first:][:n]
}

func checkUnits(t *testing.T, when, path string, size int64) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Errorf("%s: %v", when, err)
		return
	}
	sameBytes(t, when+": "+filepath.Base(path), got, unitsFrom(0, int(size)))
}

// wantNoTemporaries checks that nothing is left of what did not succeed.
func wantNoTemporaries(t *testing.T, tr *tree) {
	t.Helper()
	filepath.WalkDir(tr.cipher, func(path string, _ os.DirEntry, err error) error {
		if err == nil && (strings.Contains(path, ".encfs-tmp-") || strings.HasSuffix(path, ".name")) {
			t.Errorf("left over: %s", path)
		}
		return err
	})
}
