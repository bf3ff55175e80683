package test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRemovedDirectoryInUse keeps using a directory that has been removed.
func TestRemovedDirectoryInUse(t *testing.T) {
	tr := mountedTree(t)
	p := tr.path("dir")
	if err := os.Mkdir(p, 0o755); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(p, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := os.Remove(p); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Nlink != 0 {
		t.Errorf("fstat: %d links, %v; want none", st.Nlink, err)
	}
	_, err = unix.Openat(fd, "file", unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
	wantErrno(t, "create in a removed directory", err, unix.ENOENT)
	wantErrno(t, "mkdir in a removed directory", unix.Mkdirat(fd, "dir", 0o755), unix.ENOENT)
	buf := make([]byte, 4096)
	if n, err := unix.Getdents(fd, buf); err != nil && err != unix.ENOENT {
		t.Errorf("getdents: %d, %v", n, err)
	}
}

func TestLinkCounts(t *testing.T) {
	tr := mountedTree(t)
	links := func(name string) (n, size uint64) {
		t.Helper()
		var st unix.Stat_t
		if err := unix.Lstat(tr.path(name), &st); err != nil {
			t.Fatal(err)
		}
		return uint64(st.Nlink), uint64(st.Size)
	}
	check := func(when string, want uint64, of ...string) {
		t.Helper()
		for _, name := range of {
			if n, size := links(name); n != want || size != 5000 {
				t.Errorf("%s: %s has %d links and size %d, want %d and 5000", when, name, n, size, want)
			}
		}
	}
	tr.plant("a", pattern(5000, 1))
	check("new", 1, "a")
	for k, name := range []string{"b", "c"} {
		if err := os.Link(tr.path("a"), tr.path(name)); err != nil {
			t.Fatal(err)
		}
		check("linked", uint64(k+2), "a", name)
	}
	tr.remount()
	check("after a remount", 3, "a", "b", "c")
	if err := os.Remove(tr.path("a")); err != nil {
		t.Fatal(err)
	}
	check("one removed", 2, "b", "c")
	tr.plant("d", nil)
	if err := os.Rename(tr.path("d"), tr.path("b")); err != nil {
		t.Fatal(err)
	}
	check("one replaced", 1, "c")
	// A write by one name is seen by the other.
	if err := os.Link(tr.path("c"), tr.path("e")); err != nil {
		t.Fatal(err)
	}
	tr.plant("e", pattern(7000, 2))
	wantFile(t, tr.path("c"), pattern(7000, 2))
}

func TestSymlinks(t *testing.T) {
	tr := mountedTree(t)
	targets := []string{"a", strings.Repeat("x", 15), strings.Repeat("x", 16), strings.Repeat("x", 17), "/etc/passwd",
		"../..", "日本語", "\xff", strings.Repeat("d/", 127), strings.Repeat("e/", 500), strings.Repeat("f", 2900),
		strings.Repeat("g", 3040), strings.Repeat("h", 3041), strings.Repeat("i/", 2047) + "i"}
	check := func(when string) {
		for k, target := range targets {
			p := tr.path(fmt.Sprint(k))
			if got, err := os.Readlink(p); got != target {
				t.Errorf("%s: readlink %q, %v, want %q", when, got, err, target)
			}
			if fi, err := os.Lstat(p); err != nil || fi.Size() != int64(len(target)) {
				t.Errorf("%s: size %d, want %d", when, fi.Size(), len(target))
			}
		}
		entries, err := os.ReadDir(tr.root)
		if err != nil || len(entries) != len(targets) {
			t.Errorf("%s: %d entries, %v; want %d", when, len(entries), err, len(targets))
		}
		for _, e := range entries {
			if e.Type() != os.ModeSymlink {
				t.Errorf("%s: %s is listed as %v", when, e.Name(), e.Type())
			}
		}
	}
	for k, target := range targets {
		if err := os.Symlink(target, tr.path(fmt.Sprint(k))); err != nil {
			t.Fatalf("%d bytes: %v", len(target), err)
		}
	}
	check("new")
	tr.remount()
	check("after a remount")
	wantErrno(t, "symlink that is too long", unix.Symlink(strings.Repeat("x", 4096), tr.path("long")), unix.ENAMETOOLONG)
	wantErrno(t, "empty target", unix.Symlink("", tr.path("empty")), unix.ENOENT)
	_, err := os.Lstat(tr.path("long"))
	wantErrno(t, "the failed link", errnoOf(err), unix.ENOENT)

	// Followed, as anywhere.
	tr.plant("0-target", []byte("here"))
	if err := os.Symlink("0-target", tr.path("link")); err != nil {
		t.Fatal(err)
	}
	wantFile(t, tr.path("link"), []byte("here"))
	if err := os.Symlink("loop", tr.path("loop")); err != nil {
		t.Fatal(err)
	}
	_, err = os.ReadFile(tr.path("loop"))
	wantErrno(t, "loop", errnoOf(err), unix.ELOOP)
}

func TestSpecialFiles(t *testing.T) {
	needRoot(t)
	tr := mountedTree(t, "-o", "dev")
	nodes := []struct {
		name string
		mode uint32
		dev  uint64
	}{
		{"fifo", unix.S_IFIFO | 0o640, 0},
		{"socket", unix.S_IFSOCK | 0o600, 0},
		{"null", unix.S_IFCHR | 0o666, unix.Mkdev(1, 3)},
		{"block", unix.S_IFBLK | 0o660, unix.Mkdev(7, 300)},
		{"regular", unix.S_IFREG | 0o644, 0},
	}
	for _, n := range nodes {
		if err := unix.Mknod(tr.path(n.name), n.mode, int(n.dev)); err != nil {
			t.Fatalf("mknod %s: %v", n.name, err)
		}
	}
	for _, when := range []string{"new", "after a remount"} {
		for _, n := range nodes {
			var st unix.Stat_t
			err := unix.Lstat(tr.path(n.name), &st)
			if err != nil || st.Mode != n.mode&^0o022 || st.Rdev != n.dev {
				t.Errorf("%s %s: mode %#o, device %#x, %v; want %#o, %#x", n.name, when, st.Mode, st.Rdev, err, n.mode&^0o022, n.dev)
			}
		}
		if when == "new" {
			tr.remount()
		}
	}
	// The FIFO works, and so does the device.
	go func() {
		if f, err := os.OpenFile(tr.path("fifo"), os.O_WRONLY, 0); err == nil {
			f.WriteString("through")
			f.Close()
		}
	}()
	wantFile(t, tr.path("fifo"), []byte("through"))
	wantFile(t, tr.path("null"), nil)
	for _, n := range nodes {
		if err := os.Remove(tr.path(n.name)); err != nil {
			t.Error(err)
		}
	}
}

// TestSpansFileSystems puts another file system into the cipher directory: two
// inodes never share a number, and getcwd works.
func TestSpansFileSystems(t *testing.T) {
	needRoot(t)
	tr := mountedTree(t)
	if err := os.Mkdir(tr.path("dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	lower := tr.lower(tr.path("dir"))
	tr.umount()
	// As if the directory had been moved to a disk of its own.
	header, err := os.ReadFile(filepath.Join(lower, ".encfs-dir"))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("encfs-test", lower, "tmpfs", 0, "size=1m,mode=755"); err != nil {
		t.Skipf("no tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(lower, 0); err != nil {
			t.Errorf("unmount of the lower file system: %v", err)
			detach(lower)
		}
	})
	if err := os.WriteFile(filepath.Join(lower, ".encfs-dir"), header, 0o444); err != nil {
		t.Fatal(err)
	}
	tr.mount()
	defer tr.umount()
	seen := map[uint64]string{}
	for k := range 100 {
		for _, name := range []string{fmt.Sprint(k), fmt.Sprint("dir/", k), fmt.Sprint("dir/sub", k)} {
			p := tr.path(name)
			err := os.WriteFile(p, nil, 0o644)
			if strings.Contains(name, "sub") {
				err = errors.Join(os.Remove(p), os.Mkdir(p, 0o755))
			}
			if err != nil {
				t.Fatal(err)
			}
			var st unix.Stat_t
			if err := unix.Lstat(p, &st); err != nil {
				t.Fatal(err)
			}
			if other := seen[st.Ino]; other != "" {
				t.Errorf("%s and %s both have the inode number %d", name, other, st.Ino)
			}
			seen[st.Ino] = name
		}
	}
	if out, err := inDir(tr.path("dir/sub7"), "pwd", "-P"); err != nil || out != tr.path("dir/sub7")+"\n" {
		t.Errorf("pwd: %q, %v", out, err)
	}
	wantErrno(t, "rename to the other file system", unix.Rename(tr.path("1"), tr.path("dir/moved")), unix.EXDEV)
	wantErrno(t, "link to the other file system", unix.Link(tr.path("1"), tr.path("dir/linked")), unix.EXDEV)
}
