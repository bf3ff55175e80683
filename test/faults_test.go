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
		{"cut to a size that no file has", func(b []byte) []byte { return b[:130] }},
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

// TestShowBad shows what does not decode under its lower name: such files can
// be read where their header is sound, and removed.
func TestShowBad(t *testing.T) {
	s := newSickTree(t, "bad")
	const suffix = " (undecodable)"
	conflict := filepath.Base(s.lower) + " (conflicted copy)"
	data, err := os.ReadFile(s.lower)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{conflict: data, "rubbish": []byte("rubbish")} {
		if err := os.WriteFile(filepath.Join(s.cipher, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.mount("--show-bad")
	wantFile(t, s.path(conflict+suffix), pattern(10000, 1))
	_, err = os.ReadFile(s.path("rubbish" + suffix))
	wantErrno(t, "read", errnoOf(err), unix.EIO)
	entries, err := os.ReadDir(s.root)
	if err != nil || len(entries) != 5 {
		t.Errorf("%v, %v; want five entries", entries, err)
	}
	for _, name := range []string{conflict, "rubbish"} {
		wantErrno(t, "unlink", unix.Unlink(s.path(name+suffix)), 0)
	}
	s.wantHealthy()
	wantFile(t, s.path("bad"), pattern(10000, 1))
	s.umount()
	for _, name := range []string{conflict, "rubbish"} {
		if _, err := os.Lstat(filepath.Join(s.cipher, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
}
