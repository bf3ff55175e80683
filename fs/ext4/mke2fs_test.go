package ext4_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"encfs/fs/ext4"
	"encfs/fs/store"
)

// TestMke2fs reads file systems of kinds that the images in testdata are not,
// made from a directory by mke2fs.
func TestMke2fs(t *testing.T) {
	mke2fs := lookTool(t, "mke2fs")
	e2fsck := lookTool(t, "e2fsck")
	tree := makeTree(t)
	for _, tt := range []struct {
		name    string
		args    string
		size    string
		reindex bool // let e2fsck make indexes for the directories
	}{
		{"ext2", "-t ext2 -b 1024", "16M", false},
		{"ext2, revision 0", "-t ext2 -r 0 -b 1024", "16M", false},
		{"ext2, without file types", "-t ext2 -O ^filetype", "16M", false},
		{"ext3", "-t ext3 -b 1024", "16M", true},
		{"ext4, 1 KiB blocks", "-t ext4 -b 1024", "16M", true},
		{"ext4, 2 KiB blocks", "-t ext4 -b 2048", "16M", true},
		{"ext4, 4 KiB blocks", "-t ext4 -b 4096", "16M", true},
		{"ext4, 64 KiB blocks", "-t ext4 -b 65536 -N 4000", "256M", true},
		{"meta_bg", "-t ext4 -b 1024 -O meta_bg,^resize_inode,^sparse_super -g 256", "64M", true},
		{"meta_bg, 64bit, sparse_super", "-t ext4 -b 1024 -O meta_bg,^resize_inode,64bit -g 256", "64M", true},
		{"meta_bg, 4 KiB blocks, small groups", "-t ext4 -b 4096 -O meta_bg,^resize_inode,64bit -g 256", "128M", true},
		{"sparse_super2, meta_bg", "-t ext4 -b 1024 -O sparse_super2,meta_bg,^resize_inode,^sparse_super -g 512", "64M", false},
		{"without flex_bg", "-t ext4 -b 1024 -O ^flex_bg", "64M", false},
		{"bigalloc, 1 KiB blocks", "-t ext4 -b 1024 -O bigalloc -C 16384", "32M", true},
		{"uninit_bg", "-t ext4 -O ^metadata_csum,uninit_bg,64bit -b 1024", "32M", true},
		{"128-byte inodes", "-t ext4 -I 128", "16M", true},
		{"1024-byte inodes", "-t ext4 -I 1024", "16M", true},
		{"ea_inode", "-t ext4 -O ea_inode", "16M", true},
		{"large_dir", "-t ext4 -O large_dir -b 1024", "32M", true},
		{"metadata_csum_seed", "-t ext4 -O metadata_csum_seed -b 1024", "16M", true},
		{"without dir_index", "-t ext4 -b 1024 -O ^dir_index", "16M", false},
		{"mmp, quota, project", "-t ext4 -O mmp,quota,project", "16M", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			img := filepath.Join(t.TempDir(), "image")
			args := append(strings.Fields(tt.args), "-q", "-F", "-d", tree, img, tt.size)
			if out, err := exec.Command(mke2fs, args...).CombinedOutput(); err != nil {
				t.Fatalf("mke2fs %s: %v\n%s", tt.args, err, out)
			}
			compareImage(t, img, tree)
			if tt.reindex {
				if out, err := exec.Command(e2fsck, "-fyD", img).CombinedOutput(); err != nil && !isExit(err, 1) {
					t.Fatalf("e2fsck: %v\n%s", err, out)
				}
				compareImage(t, img, tree)
			}
		})
	}
}

func lookTool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/" + name); err != nil {
			t.Skip("no " + name)
		}
	}
	return path
}

func isExit(err error, code int) bool {
	exit, ok := err.(*exec.ExitError)
	return ok && exit.ExitCode() == code
}

// makeTree makes a directory with some of everything that needs no privilege.
func makeTree(t *testing.T) string {
	t.Helper()
	tree := t.TempDir()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.MkdirAll(filepath.Join(tree, "a/b/c"), 0o755))
	check(os.Mkdir(filepath.Join(tree, "many"), 0o750))
	for i := range 500 {
		name := fmt.Sprintf("%d-%s", i, strings.Repeat("x", i%200))
		check(os.WriteFile(filepath.Join(tree, "many", name), []byte(name)[:i%3], 0o644))
	}
	data := make([]byte, 700000)
	for i := range data {
		data[i] = byte(i * i >> 8)
	}
	for _, n := range []int{0, 1, 59, 60, 61, 150, 1023, 1024, 1025, 4096, 65536, 700000} {
		check(os.WriteFile(filepath.Join(tree, "a", fmt.Sprint(n)), data[:n], 0o640))
	}
	f, err := os.Create(filepath.Join(tree, "a/sparse"))
	check(err)
	_, err = f.WriteAt(data[:100], 3<<20)
	check(err)
	check(f.Truncate(5<<20 + 17))
	check(f.Close())
	check(os.Link(filepath.Join(tree, "a/1"), filepath.Join(tree, "a/b/link")))
	for _, n := range []int{1, 59, 60, 61, 1000} {
		check(os.Symlink(strings.Repeat("t", n), filepath.Join(tree, "a", fmt.Sprintf("target-%d", n))))
	}
	check(unix.Mkfifo(filepath.Join(tree, "a/fifo"), 0o600))
	for _, size := range []int{0, 1, 30, 300} {
		err := unix.Setxattr(filepath.Join(tree, "a/1"), fmt.Sprintf("user.x%d", size), data[:size], 0)
		if err != nil && err != unix.EOPNOTSUPP {
			t.Fatal(err)
		}
	}
	// rw-, user 1000 r--, group r--, mask r--, others ---
	acl := []byte("\x02\x00\x00\x00" +
		"\x01\x00\x06\x00\xff\xff\xff\xff" + "\x02\x00\x04\x00\xe8\x03\x00\x00" +
		"\x04\x00\x04\x00\xff\xff\xff\xff" + "\x10\x00\x04\x00\xff\xff\xff\xff" + "\x20\x00\x00\x00\xff\xff\xff\xff")
	if err := unix.Setxattr(filepath.Join(tree, "a/59"), accessACL, acl, 0); err != nil && err != unix.EOPNOTSUPP {
		t.Fatal(err)
	}
	return tree
}

const accessACL = "system.posix_acl_access"

// compareImage compares an image with the directory that it was made from.
func compareImage(t *testing.T, img, tree string) {
	t.Helper()
	f, err := os.Open(img)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	s, err := ext4.Open(f, info.Size(), ext4.Options{})
	if err != nil {
		f.Close()
		t.Fatal(err)
	}
	defer s.Close()
	compareDir(t, s, s.Root(), tree)
}

func compareDir(t *testing.T, s *ext4.Store, dir store.Node, path string) {
	t.Helper()
	listed, err := s.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, e := range listed {
		if e.Err != nil {
			t.Errorf("%s: %v", path, e.Err)
			continue
		}
		if found[string(e.Name)] {
			t.Errorf("%s: %s is there twice", path, e.Name)
		}
		found[string(e.Name)] = true
	}
	wanted, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range wanted {
		if !found[e.Name()] {
			t.Errorf("%s: %s is not listed", path, e.Name())
		}
		compareObject(t, s, dir, filepath.Join(path, e.Name()))
	}
	if extra := len(found) - len(wanted); extra != 0 && !(extra == 1 && found["lost+found"]) {
		t.Errorf("%s: %d entries, want %d", path, len(found), len(wanted))
	}
}

func compareObject(t *testing.T, s *ext4.Store, dir store.Node, path string) {
	t.Helper()
	n, a, err := s.Lookup(dir, []byte(filepath.Base(path)))
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	if a.Mode != st.Mode || a.UID != st.Uid || a.GID != st.Gid || a.Mode&store.ModeType != store.ModeDir && (a.Size != st.Size || uint64(a.Nlink) != uint64(st.Nlink)) {
		t.Errorf("%s: got %+v, want %+v", path, a, st)
	}
	if a.Mtime.Unix() != info.ModTime().Unix() {
		t.Errorf("%s: modified at %v, want %v", path, a.Mtime, info.ModTime())
	}
	switch a.Mode & store.ModeType {
	case store.ModeDir:
		compareDir(t, s, n, path)
	case store.ModeSymlink:
		want, err := os.Readlink(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Readlink(n); string(got) != want {
			t.Errorf("%s: target %q and error %v, want %q", path, got, err, want)
		}
	case store.ModeRegular:
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := s.Open(n, false)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		units := len(want)/s.BlockSize() + 1
		got := make([]byte, units*s.BlockSize())
		if _, err := f.ReadUnits(got, 0, make([]bool, units)); err != nil || !bytes.Equal(got[:len(want)], want) {
			t.Errorf("%s: has other contents, or error %v", path, err)
		}
		f.Close()
		if names, err := s.ListXattr(n); err != nil || len(names) > 0 { // mke2fs stores none in the old revision
			compareXattrs(t, s, n, path)
		}
	}
}

func compareXattrs(t *testing.T, s *ext4.Store, n store.Node, path string) {
	t.Helper()
	buf := make([]byte, 4096)
	size, err := unix.Llistxattr(path, buf)
	if err != nil {
		return // the file system of the tree has none
	}
	for name := range strings.SplitSeq(strings.Trim(string(buf[:size]), "\x00"), "\x00") {
		if !strings.HasPrefix(name, "user.") && name != accessACL {
			continue
		}
		want := make([]byte, 4096)
		size, err := unix.Lgetxattr(path, name, want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.GetXattr(n, name); err != nil || !bytes.Equal(got, want[:size]) {
			t.Errorf("%s: %s is %x with error %v, want %x", path, name, got, err, want[:size])
		}
	}
}
