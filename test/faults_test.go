package test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// TestLowerReadOnly mounts from a file system that is mounted read-only.
func TestLowerReadOnly(t *testing.T) {
	needFUSE(t)
	disk := smallDisk(t, smallDisks[0].mount)
	tr := newTreeIn(t, disk)
	tr.mount()
	tr.plant("file", pattern(5000, 1))
	tr.umount()
	if err := unix.Mount("", disk, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	tr.mount()
	wantFile(t, tr.path("file"), pattern(5000, 1))
	wantErrno(t, "create", errnoOf(os.WriteFile(tr.path("new"), nil, 0o644)), unix.EROFS)
	wantErrno(t, "write", errnoOf(os.WriteFile(tr.path("file"), nil, 0o644)), unix.EROFS)
	wantErrno(t, "unlink", unix.Unlink(tr.path("file")), unix.EROFS)
	if m, _ := mountAt(tr.root); !slices.Contains(m.options, "ro") {
		t.Errorf("mount options %q, want ro", m.options)
	}
	tr.umount()
	if !strings.Contains(tr.log, "read-only") {
		t.Errorf("the server does not say that it is read-only:\n%s", tr.log)
	}
}

func TestReadOnlyMount(t *testing.T) {
	tr := mountedTree(t)
	tr.plant("file", pattern(5000, 1))
	before := snapshot(t, tr.cipher)
	tr.remount("--ro")
	wantFile(t, tr.path("file"), pattern(5000, 1))
	wantErrno(t, "create", errnoOf(os.WriteFile(tr.path("new"), nil, 0o644)), unix.EROFS)
	wantErrno(t, "chmod", unix.Chmod(tr.path("file"), 0o600), unix.EROFS)
	wantErrno(t, "setxattr", unix.Setxattr(tr.path("file"), "user.a", nil, 0), unix.EROFS)
	tr.umount()
	if after := snapshot(t, tr.cipher); after != before {
		t.Errorf("the cipher directory has changed:\n%s\nwas\n%s", after, before)
	}
}

// snapshot describes a tree in one string.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := e.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %v %d %v", path, fi.Mode(), fi.Size(), fi.ModTime().UnixNano())
		if fi.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %x", sha256.Sum256(data))
		}
		b.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A sickTree is one of which something is damaged below.
type sickTree struct {
	*tree
	lower string // what is damaged
}

// newSickTree makes a tree with the files "good", "bad" and "dir/inside",
// unmounted, and finds the lower object of one of them.
func newSickTree(t *testing.T, path string) *sickTree {
	t.Helper()
	tr := mountedTree(t)
	if err := os.Mkdir(tr.path("dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"good", "bad", "dir/inside"} {
		tr.plant(name, pattern(10000, 1))
	}
	lower := tr.lower(tr.path(path))
	tr.umount()
	tr.complaints = true
	return &sickTree{tr, lower}
}

// wantHealthy checks that what is not damaged is as it was.
func (s *sickTree) wantHealthy() {
	s.t.Helper()
	wantFile(s.t, s.path("good"), pattern(10000, 1))
}

// wantOneLine checks that the log of the server, which has ended, has one line
// about a lower path.
func (s *sickTree) wantOneLine(lower string) {
	s.t.Helper()
	name, err := filepath.Rel(s.cipher, lower)
	if err != nil {
		s.t.Fatal(err)
	}
	if n := strings.Count(s.log, name); n != 1 {
		s.t.Errorf("the log names %s %d times, want once:\n%s", name, n, s.log)
	}
}

// change edits a lower file in place.
func change(t *testing.T, path string, f func(b []byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, f(b), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestDamagedHeader(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(b []byte) []byte
	}{
		{"magic", func(b []byte) []byte { b[0]++; return b }},
		{"nonce", func(b []byte) []byte { b[50]++; return b }},
		{"tag", func(b []byte) []byte { b[70]++; return b }},
		{"zeros", func(b []byte) []byte { clear(b[:128]); return b }},
		{"version", func(b []byte) []byte { b[8] = 2; return b }},
		{"cut to less than a header", func(b []byte) []byte { return b[:100] }},
		{"cut to a size that no file has", func(b []byte) []byte { return b[:4097] }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSickTree(t, "bad")
			change(t, s.lower, tt.change)
			s.mount()
			for range 3 {
				_, err := os.ReadFile(s.path("bad"))
				wantErrno(t, "read", errnoOf(err), unix.EIO)
				wantErrno(t, "truncate", unix.Truncate(s.path("bad"), 10), unix.EIO)
			}
			s.wantHealthy()
			if _, err := os.Lstat(s.path("bad")); err != nil {
				t.Errorf("it cannot be looked at: %v", err)
			}
			if out, err := exec.Command("ls", "-l", s.root).CombinedOutput(); err != nil || !bytes.Contains(out, []byte("bad")) {
				t.Errorf("ls: %v\n%s", err, out)
			}
			// And be renamed and removed.
			wantErrno(t, "rename", unix.Rename(s.path("bad"), s.path("worse")), 0)
			wantErrno(t, "unlink", unix.Unlink(s.path("worse")), 0)
			s.umount()
			s.wantOneLine(s.lower)
		})
	}
}

// TestChangedContents flips a bit of a data unit. Contents are not
// authenticated: that unit is garbage, nothing else is.
func TestChangedContents(t *testing.T) {
	s := newSickTree(t, "bad")
	change(t, s.lower, func(b []byte) []byte { b[4096+4096+100] ^= 1; return b })
	s.complaints = false
	s.mount()
	got, err := os.ReadFile(s.path("bad"))
	want := pattern(10000, 1)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	sameBytes(t, "unit before", got[:4096], want[:4096])
	sameBytes(t, "unit after", got[8192:], want[8192:])
	if bytes.Equal(got[4096:8192], want[4096:8192]) {
		t.Error("the changed unit is as before")
	}
	s.wantHealthy()
	s.umount()
}

// TestBadNames puts things into the cipher directory that are no objects.
func TestBadNames(t *testing.T) {
	s := newSickTree(t, "bad")
	bad := []string{"conflict copy", "no+base64", "YWJj", ".encfs-long-" + strings.Repeat("A", 43)}
	foreign := []string{".sync-tool", ".DS_Store", ".nfs0001"}
	for _, name := range append(bad, foreign...) {
		if err := os.WriteFile(filepath.Join(s.cipher, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.mount()
	for range 3 {
		entries, err := os.ReadDir(s.root)
		if err != nil || len(entries) != 3 {
			t.Errorf("%v, %v; want bad, dir and good", entries, err)
		}
		s.wantHealthy()
	}
	s.umount()
	for _, name := range bad {
		s.wantOneLine(filepath.Join(s.cipher, name))
	}
	for _, name := range append(bad, foreign...) {
		if _, err := os.Stat(filepath.Join(s.cipher, name)); err != nil {
			t.Errorf("gone: %v", err)
		}
	}
}

// TestRmdirWithSomethingHidden says why a directory cannot be removed.
func TestRmdirWithSomethingHidden(t *testing.T) {
	for _, hidden := range []string{"no object", ".foreign"} {
		t.Run(hidden, func(t *testing.T) {
			s := newSickTree(t, "dir")
			if err := os.WriteFile(filepath.Join(s.lower, hidden), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			s.mount()
			wantErrno(t, "unlink", unix.Unlink(s.path("dir/inside")), 0)
			wantErrno(t, "rmdir", unix.Rmdir(s.path("dir")), unix.ENOTEMPTY)
			if _, err := os.ReadDir(s.path("dir")); err != nil {
				t.Errorf("after a failed rmdir: %v", err)
			}
			if err := os.Remove(filepath.Join(s.lower, hidden)); err != nil {
				t.Fatal(err)
			}
			wantErrno(t, "rmdir", unix.Rmdir(s.path("dir")), 0)
			s.umount()
			if !strings.Contains(s.log, filepath.Base(s.lower)+"/"+hidden) {
				t.Errorf("the log does not say why:\n%s", s.log)
			}
		})
	}
}

// TestCutBehindOurBack cuts a lower file while it is open and mapped.
func TestCutBehindOurBack(t *testing.T) {
	tr := mountedTree(t)
	tr.complaints = true
	tr.plant("good", pattern(10000, 1))
	p := tr.plant("bad", pattern(100000, 1))
	lower := tr.lower(p)
	tr.remount()
	f, err := os.Open(p)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Truncate(lower, 4096+8192+5); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100000)
	n, err := f.ReadAt(buf, 0)
	if n > 0 {
		sameBytes(t, "what is left", buf[:min(n, 8192)], pattern(100000, 1)[:min(n, 8192)])
	}
	for k := 8192; k < n; k++ {
		if buf[k] != 0 {
			t.Fatalf("byte %d of %d is %#x: garbage", k, n, buf[k])
		}
	}
	if err == nil || n > 8192 {
		t.Errorf("read %d bytes, %v; want EIO for what is gone", n, err)
	} else {
		wantErrno(t, "read", errnoOf(err), unix.EIO)
	}
	f.Close()
	wantFile(t, tr.path("good"), pattern(10000, 1))
	tr.remount()
	fi, err := os.Stat(p)
	if err != nil || fi.Size() != 4101 {
		t.Errorf("size %d, %v; want that of the cut file, 4101", fi.Size(), err)
	}
	wantFile(t, p, pattern(100000, 1)[:4101])
}

// TestLostDirectoryHeader loses the header of a directory.
func TestLostDirectoryHeader(t *testing.T) {
	const copyName = "user.encfs.dir"
	for _, how := range []struct {
		name   string
		lose   func(header string) error
		copied bool
	}{
		{"missing, with the copy", os.Remove, true},
		{"empty, with the copy", func(h string) error { return os.Truncate(h, 0) }, true},
		{"cut, with the copy", func(h string) error { return os.Truncate(h, 100) }, true},
		{"missing, without", os.Remove, false},
		{"empty, without", func(h string) error { return os.Truncate(h, 0) }, false},
	} {
		t.Run(how.name, func(t *testing.T) {
			s := newSickTree(t, "dir")
			var b [1000]byte
			n, err := unix.Getxattr(s.lower, copyName, b[:])
			if errors.Is(err, unix.EOPNOTSUPP) {
				t.Skip("no extended attributes here")
			}
			if err != nil || n != 128 {
				t.Fatalf("the copy has %d bytes, %v", n, err)
			}
			header := filepath.Join(s.lower, ".encfs-dir")
			os.Chmod(header, 0o644)
			if err := how.lose(header); err != nil {
				t.Fatal(err)
			}
			if !how.copied {
				if err := unix.Removexattr(s.lower, copyName); err != nil {
					t.Fatal(err)
				}
			}
			s.mount()
			s.wantHealthy()
			if how.copied {
				wantFile(t, s.path("dir/inside"), pattern(10000, 1))
				if b, err := os.ReadFile(header); err != nil || len(b) != 128 {
					t.Errorf("the header is not back: %d bytes, %v", len(b), err)
				}
			} else {
				_, err := os.ReadDir(s.path("dir"))
				wantErrno(t, "readdir", errnoOf(err), unix.EIO)
				_, err = os.Stat(s.path("dir/inside"))
				wantErrno(t, "lookup", errnoOf(err), unix.EIO)
				if _, err := os.Stat(s.path("dir")); err != nil {
					t.Errorf("it cannot be looked at: %v", err)
				}
			}
			s.umount()
			s.wantOneLine(header)
		})
	}
}

// TestStaleMountPoint has a server die: the mount point says so until umount
// takes the dead mount away, and then it can be used again.
func TestStaleMountPoint(t *testing.T) {
	tr := mountedTree(t)
	tr.plant("file", []byte("x"))
	tr.kill()
	_, err := os.Stat(tr.path("file"))
	wantErrno(t, "stat", errnoOf(err), unix.ENOTCONN)
	encfs(t, "umount", tr.root)
	if _, ok := mountAt(tr.root); ok {
		t.Error("the dead mount is still there")
		detach(tr.root)
	}
	tr.mount()
	wantFile(t, tr.path("file"), []byte("x"))
}

// TestBusy mounts what is mounted, and unmounts what is in use.
func TestBusy(t *testing.T) {
	tr := mountedTree(t)
	second := *tr
	second.root = filepath.Join(tempDir(t), "second")
	if err := os.Mkdir(second.root, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, code := tryEncfs(t, "mount", "--passfile", tr.passfile, tr.cipher, second.root); code != 15 {
		t.Errorf("mounting it twice: exit code %d, want 15\n%s", code, out)
	}
	f, err := os.Create(tr.path("file"))
	if err != nil {
		t.Fatal(err)
	}
	out, code := tryEncfs(t, "umount", tr.root)
	if code != 15 || !strings.Contains(out, fmt.Sprint(os.Getpid())) {
		t.Errorf("umount of a mount in use: exit code %d, want 15 and our process named\n%s", code, out)
	}
	if _, err := f.Write([]byte("still here")); err != nil {
		t.Error(err)
	}
	f.Close()
	wantFile(t, tr.path("file"), []byte("still here"))

	// A lazy unmount with an open file ends when the file is closed.
	f, err = os.Open(tr.path("file"))
	if err != nil {
		t.Fatal(err)
	}
	encfs(t, "umount", "--lazy", tr.root)
	b := make([]byte, 20)
	if n, _ := f.ReadAt(b, 0); string(b[:n]) != "still here" {
		t.Errorf("after a lazy unmount the open file reads %q", b[:n])
	}
	f.Close()
	tr.wait()
}

// TestBackground mounts as people do, without -f.
func TestBackground(t *testing.T) {
	needFUSE(t)
	tr := newTree(t)
	log := filepath.Join(tempDir(t), "log")
	for range 3 {
		t.Cleanup(func() {
			if _, ok := mountAt(tr.root); ok {
				detach(tr.root)
			}
		})
		encfs(t, "mount", "--passfile", tr.passfile, "--log", log, tr.cipher, tr.root)
		wantFile(t, tr.plant("file", pattern(5000, 1)), pattern(5000, 1))
		encfs(t, "umount", tr.root)
	}
	// The lock is free, so the server has ended.
	tr.mount()
	tr.umount()
}
