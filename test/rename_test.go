package test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRenameOver renames each kind of object over each other, with each flag:
// what moved, what was replaced and what stayed is told by inode numbers.
func TestRenameOver(t *testing.T) {
	tr := mountedTree(t)
	kinds := []struct {
		name string
		dir  bool
		full bool
		make func(p string) error
	}{
		{"nothing", false, false, nil},
		{"file", false, false, func(p string) error { return os.WriteFile(p, pattern(100, 1), 0o644) }},
		{"link", false, false, func(p string) error { return os.Symlink("x", p) }},
		{"long link", false, false, func(p string) error { return os.Symlink(strings.Repeat("x", 4000), p) }},
		{"FIFO", false, false, func(p string) error { return unix.Mkfifo(p, 0o644) }},
		{"empty directory", true, false, func(p string) error { return os.Mkdir(p, 0o755) }},
		{"full directory", true, true, func(p string) error { return os.MkdirAll(p+"/sub", 0o755) }},
	}
	long := strings.Repeat("l", 250)
	ino := func(p string) uint64 {
		var st unix.Stat_t
		if unix.Lstat(p, &st) != nil {
			return 0
		}
		return st.Ino
	}
	n := 0
	for _, from := range kinds {
		for _, to := range kinds {
			for _, flags := range []uint{0, unix.RENAME_NOREPLACE, unix.RENAME_EXCHANGE} {
				for _, names := range [][2]string{{"a", "b"}, {"a", "other/b"}, {long, "other/" + long + "x"}} {
					n++
					dir := tr.path(fmt.Sprint(n))
					a, b := filepath.Join(dir, names[0]), filepath.Join(dir, names[1])
					if err := os.MkdirAll(dir+"/other", 0o755); err != nil {
						t.Fatal(err)
					}
					if from.make != nil {
						if err := from.make(a); err != nil {
							t.Fatal(err)
						}
					}
					if to.make != nil {
						if err := to.make(b); err != nil {
							t.Fatal(err)
						}
					}
					var want syscall.Errno
					switch {
					case from.make == nil, to.make == nil && flags == unix.RENAME_EXCHANGE:
						want = unix.ENOENT
					case to.make == nil, flags == unix.RENAME_EXCHANGE:
					case flags == unix.RENAME_NOREPLACE:
						want = unix.EEXIST
					case from.dir && !to.dir:
						want = unix.ENOTDIR
					case !from.dir && to.dir:
						want = unix.EISDIR
					case to.full:
						want = unix.ENOTEMPTY
					}
					what := fmt.Sprintf("%s over %s, %s to %s, flags %d", from.name, to.name, names[0], names[1], flags)
					inoA, inoB := ino(a), ino(b)
					wantErrno(t, what, unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, flags), want)
					if want == 0 {
						if flags != unix.RENAME_EXCHANGE {
							inoB = 0
						}
						inoA, inoB = inoB, inoA
					}
					if got := ino(a); got != inoA {
						t.Errorf("%s: inode %d at the old name, want %d", what, got, inoA)
					}
					if got := ino(b); got != inoB {
						t.Errorf("%s: inode %d at the new name, want %d", what, got, inoB)
					}
				}
			}
		}
	}
	wantErrno(t, "two flags", unix.Renameat2(unix.AT_FDCWD, tr.path("1"), unix.AT_FDCWD, tr.path("2"), unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE), unix.EINVAL)
	wantErrno(t, "rename into itself", unix.Rename(tr.path("1"), tr.path("1/other/x")), unix.EINVAL)
	wantErrno(t, "exchange with what is inside", unix.Renameat2(unix.AT_FDCWD, tr.path("1"), unix.AT_FDCWD, tr.path("1/other"), unix.RENAME_EXCHANGE), unix.EINVAL)
	wantErrno(t, "rename over what it is in", unix.Rename(tr.path("1/other"), tr.path("1")), unix.ENOTEMPTY)
	wantErrno(t, "rename of .", unix.Rename(tr.path("1")+"/.", tr.path("x")), unix.EBUSY)
}

// TestDirectoryLinks counts the links of directories: two, and one for each
// directory inside.
func TestDirectoryLinks(t *testing.T) {
	tr := mountedTree(t)
	check := func(what string, err error, a, b uint64) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		for name, want := range map[string]uint64{"a": a, "b": b} {
			var st unix.Stat_t
			if err := unix.Stat(tr.path(name), &st); err != nil || uint64(st.Nlink) != want {
				t.Errorf("%s: %s has %d links, %v, want %d", what, name, st.Nlink, err, want)
			}
		}
	}
	if err := errors.Join(os.Mkdir(tr.path("a"), 0o755), os.Mkdir(tr.path("b"), 0o755)); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if unix.Stat(tr.lower(tr.path("a")), &st) == nil && st.Nlink == 1 {
		t.Skip("the lower file system does not count links of directories")
	}
	check("mkdir", nil, 2, 2)
	check("mkdir inside", os.Mkdir(tr.path("a/1"), 0o755), 3, 2)
	check("another", os.Mkdir(tr.path("a/2"), 0o755), 4, 2)
	check("a file", os.WriteFile(tr.path("a/f"), nil, 0o644), 4, 2)
	check("rename to the other", os.Rename(tr.path("a/1"), tr.path("b/1")), 3, 3)
	check("rename over another", unix.Rename(tr.path("a/2"), tr.path("b/1")), 2, 3)
	check("exchange with a file", unix.Renameat2(unix.AT_FDCWD, tr.path("a/f"), unix.AT_FDCWD, tr.path("b/1"), unix.RENAME_EXCHANGE), 3, 2)
	check("rmdir", unix.Rmdir(tr.path("a/f")), 2, 2)
	tr.remount()
	check("remount", nil, 2, 2)
}

// TestStableInodes checks that inode numbers are the same in listings, in stat
// and across mounts.
func TestStableInodes(t *testing.T) {
	tr := mountedTree(t)
	for _, err := range []error{
		os.MkdirAll(tr.path("dir/sub"), 0o755), os.WriteFile(tr.path("dir/file"), pattern(5000, 1), 0o644),
		os.Link(tr.path("dir/file"), tr.path("linked")), os.Symlink("x", tr.path("link")), unix.Mkfifo(tr.path("fifo"), 0o644),
		os.WriteFile(tr.path(strings.Repeat("n", 255)), nil, 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	collect := func() map[string]uint64 {
		seen := map[string]uint64{}
		filepath.WalkDir(tr.root, func(path string, e os.DirEntry, err error) error {
			var st unix.Stat_t
			if err == nil {
				err = unix.Lstat(path, &st)
			}
			if err != nil {
				t.Error(err)
				return err
			}
			seen[path] = st.Ino
			if !e.IsDir() {
				return nil
			}
			for name, ino := range direntInodes(t, path) {
				if err := unix.Lstat(filepath.Join(path, name), &st); err != nil || st.Ino != ino {
					t.Errorf("%s/%s: inode %d in the listing, %d by stat, %v", path, name, ino, st.Ino, err)
				}
			}
			return nil
		})
		return seen
	}
	want := collect()
	if want[tr.path("linked")] != want[tr.path("dir/file")] {
		t.Error("two links of one file have two inode numbers")
	}
	tr.remount()
	got := collect()
	for path, ino := range want {
		if got[path] != ino {
			t.Errorf("%s: inode %d after a remount, %d before", path, got[path], ino)
		}
	}
	// An atomic replacement is another inode; a rename is not.
	tr.plant("temp", nil)
	var before, after unix.Stat_t
	err := errors.Join(unix.Stat(tr.path("temp"), &before), os.Rename(tr.path("temp"), tr.path("linked")), unix.Stat(tr.path("linked"), &after))
	if err != nil || after.Ino != before.Ino || after.Ino == want[tr.path("linked")] {
		t.Errorf("inode %d became %d, over %d, %v", before.Ino, after.Ino, want[tr.path("linked")], err)
	}
}

// direntInodes returns the inode numbers that getdents tells.
func direntInodes(t *testing.T, dir string) map[string]uint64 {
	t.Helper()
	entries := map[string]uint64{}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer unix.Close(fd)
	buf := make([]byte, 8192)
	for {
		n, err := unix.Getdents(fd, buf)
		if err != nil {
			t.Error(err)
		}
		if n <= 0 {
			return entries
		}
		for rest := buf[:n]; len(rest) > 0; {
			// struct linux_dirent64 of getdents64(2)
			size := int(binary.NativeEndian.Uint16(rest[16:]))
			if name := unix.ByteSliceToString(rest[19:size]); name != "." && name != ".." {
				entries[name] = binary.NativeEndian.Uint64(rest)
			}
			rest = rest[size:]
		}
	}
}

// TestSocket has a server listen at a name in the mount.
func TestSocket(t *testing.T) {
	tr := mountedTree(t)
	dir, err := unix.Open(tr.root, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	path := fmt.Sprintf("/proc/self/fd/%d/socket", dir) // an address has 108 bytes
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			c.Write([]byte("here"))
			c.Close()
		}
	}()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b := make([]byte, 10)
	if n, err := c.Read(b); string(b[:n]) != "here" {
		t.Errorf("read %q, %v", b[:n], err)
	}
	_, err = net.Listen("unix", path)
	wantErrno(t, "bind to a name that is there", errnoOf(err), unix.EADDRINUSE)
	wantErrno(t, "open of a socket", openClose(tr.path("socket"), unix.O_RDONLY), unix.ENXIO)
	var st unix.Stat_t
	if err := unix.Stat(tr.path("socket"), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		t.Errorf("mode %#o, %v", st.Mode, err)
	}
}
