package test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/posixtest"
	"golang.org/x/sys/unix"
)

// posixSkips are the rows of go-fuse's table that do not hold here, each with
// the reason.
var posixSkips = map[string]string{
	"FcntlFlockLocksFile": "it wants a process to lock itself out, which POSIX locks never do, those of ext4 neither",
	"FstatDeleted":        "it wants open to leave atime alone; ours reads the header, and so does what is below",
}

// TestPosixTable runs go-fuse's table of what a POSIX file system does.
func TestPosixTable(t *testing.T) { runPosixTable(t, mountedTree(t)) }

func runPosixTable(t *testing.T, tr *tree) {
	for _, name := range sorted(posixtest.All) {
		t.Run(name, func(t *testing.T) {
			if why := posixSkips[name]; why != "" {
				t.Skip(why)
			}
			dir := tr.path(name)
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			posixtest.All[name](t, dir)
		})
	}
}

func TestStatfs(t *testing.T) {
	tr := mountedTree(t)
	var got, lower unix.Statfs_t
	if err := errors.Join(unix.Statfs(tr.root, &got), unix.Statfs(tr.cipher, &lower)); err != nil {
		t.Fatal(err)
	}
	if got.Namelen != 255 {
		t.Errorf("names of up to %d bytes, want 255", got.Namelen)
	}
	if got.Blocks*uint64(got.Frsize) != lower.Blocks*uint64(lower.Frsize) || got.Files != lower.Files {
		t.Errorf("%d blocks of %d, %d files; below are %d of %d, %d", got.Blocks, got.Frsize, got.Files, lower.Blocks, lower.Frsize, lower.Files)
	}
}

func TestNamesTooLong(t *testing.T) {
	tr := mountedTree(t)
	long := tr.path(strings.Repeat("x", 256))
	tr.plant("file", nil)
	_, err := os.Stat(long)
	wantErrno(t, "stat", errnoOf(err), unix.ENAMETOOLONG)
	wantErrno(t, "mkdir", unix.Mkdir(long, 0o755), unix.ENAMETOOLONG)
	wantErrno(t, "create", errnoOf(os.WriteFile(long, nil, 0o644)), unix.ENAMETOOLONG)
	wantErrno(t, "rename", unix.Rename(tr.path("file"), long), unix.ENAMETOOLONG)
	wantErrno(t, "link", unix.Link(tr.path("file"), long), unix.ENAMETOOLONG)
	wantErrno(t, "symlink", unix.Symlink("x", long), unix.ENAMETOOLONG)
	wantErrno(t, "unlink", unix.Unlink(long), unix.ENAMETOOLONG)
	// And 255 bytes do fit, in any script.
	for _, unit := range []string{"x", "é", "長", "\U0001f512"} {
		name := strings.Repeat(unit, 255/len(unit))
		p := tr.plant(name, []byte(name))
		tr.plant(name[:len(name)-len(unit)]+"y", []byte("another"))
		wantFile(t, p, []byte(name))
	}
}

func TestErrno(t *testing.T) {
	tr := mountedTree(t)
	file := tr.plant("file", []byte("x"))
	dir := tr.path("dir")
	for _, err := range []error{os.Mkdir(dir, 0o755), os.Mkdir(dir+"/sub", 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	open := func(p string, flags int) error {
		fd, err := unix.Open(p, flags|unix.O_CLOEXEC, 0o644)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
	other := tempDir(t)
	for _, tt := range []struct {
		what string
		err  error
		want syscall.Errno
	}{
		{"open what is not there", open(tr.path("none"), unix.O_RDONLY), unix.ENOENT},
		{"open below a file", open(file+"/x", unix.O_RDONLY), unix.ENOTDIR},
		{"open a directory for writing", open(dir, unix.O_WRONLY), unix.EISDIR},
		{"create what exists", open(file, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY), unix.EEXIST},
		{"O_DIRECTORY on a file", open(file, unix.O_DIRECTORY), unix.ENOTDIR},
		{"O_TMPFILE", open(dir, unix.O_TMPFILE|unix.O_RDWR), unix.EOPNOTSUPP},
		{"mkdir over a file", unix.Mkdir(file, 0o755), unix.EEXIST},
		{"rmdir of a file", unix.Rmdir(file), unix.ENOTDIR},
		{"rmdir of what is full", unix.Rmdir(dir), unix.ENOTEMPTY},
		{"rmdir of the root", unix.Rmdir(tr.root), unix.EBUSY},
		{"unlink of a directory", unix.Unlink(dir), unix.EISDIR},
		{"link of a directory", unix.Link(dir, tr.path("x")), unix.EPERM},
		{"link to another file system", unix.Link(file, other+"/x"), unix.EXDEV},
		{"rename to another file system", unix.Rename(file, other+"/x"), unix.EXDEV},
		{"rename from another file system", unix.Rename(other, tr.path("x")), unix.EXDEV},
		{"rename into itself", unix.Rename(dir, dir+"/sub/x"), unix.EINVAL},
		{"rename of what is not there", unix.Rename(tr.path("none"), tr.path("x")), unix.ENOENT},
		{"RENAME_WHITEOUT", unix.Renameat2(unix.AT_FDCWD, file, unix.AT_FDCWD, tr.path("x"), unix.RENAME_WHITEOUT), unix.EINVAL},
		{"truncate to less than nothing", unix.Truncate(file, -1), unix.EINVAL},
		{"truncate of a directory", unix.Truncate(dir, 0), unix.EISDIR},
		{"readlink of a file", second(unix.Readlink(file, make([]byte, 10))), unix.EINVAL},
		{"attribute that is not there", second(unix.Getxattr(file, "user.none", nil)), unix.ENODATA},
		{"attribute without a namespace", unix.Setxattr(file, "none", nil, 0), unix.EOPNOTSUPP},
		{"removing one that is not there", unix.Removexattr(file, "user.none"), unix.ENODATA},
		{"attribute with a name too long", unix.Setxattr(file, "user."+strings.Repeat("x", 251), nil, 0), unix.ERANGE},
	} {
		wantErrno(t, tt.what, tt.err, tt.want)
	}
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd := int(f.Fd())
	_, err = unix.IoctlGetInt(fd, 0x40046699)
	wantErrno(t, "unknown ioctl", err, unix.ENOTTY)
	_, err = unix.IoctlGetTermios(fd, unix.TCGETS)
	wantErrno(t, "isatty", err, unix.ENOTTY)
	_, err = unix.Pread(fd, make([]byte, 10), -1)
	wantErrno(t, "read before the beginning", err, unix.EINVAL)
	_, err = unix.Seek(fd, 2, unix.SEEK_DATA)
	wantErrno(t, "SEEK_DATA past the end", err, unix.ENXIO)
	wantErrno(t, "fallocate with COLLAPSE_RANGE", unix.Fallocate(fd, unix.FALLOC_FL_COLLAPSE_RANGE, 0, 4096), unix.EOPNOTSUPP)
	wantErrno(t, "fallocate of nothing", unix.Fallocate(fd, 0, 0, 0), unix.EINVAL)
	wantErrno(t, "ftruncate beyond what can be", unix.Ftruncate(fd, 1<<63-1), unix.EFBIG)
	ro, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer ro.Close()
	_, err = unix.Pwrite(int(ro.Fd()), []byte("x"), 0)
	wantErrno(t, "write to a file open for reading", err, unix.EBADF)
	wantErrno(t, "truncate of a file open for reading", unix.Ftruncate(int(ro.Fd()), 0), unix.EINVAL)
}

func second[T any](_ T, err error) error { return err }

// TestDeepPaths works at the end of paths as long as the kernel takes.
func TestDeepPaths(t *testing.T) {
	tr := mountedTree(t)
	if err := os.Mkdir(tr.path("deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(tr.path("deep"), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	path := tr.path("deep")
	const name = "directory-name-of-forty-bytes-----------"
	// One level farther than any path leads, by descriptors.
	for len(path) < unix.PathMax+len(name) {
		if err := unix.Mkdirat(fd, name, 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(fd, name, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(fd)
		fd = next
		path += "/" + name
	}
	file, err := unix.Openat(fd, "file", unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
	unix.Close(fd)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Pwrite(file, []byte("deep down"), 0); err != nil {
		t.Error(err)
	}
	unix.Close(file)
	_, err = os.Stat(path)
	wantErrno(t, "a path of more than PATH_MAX bytes", errnoOf(err), unix.ENAMETOOLONG)

	// getcwd in a directory whose path just fits.
	fits := path[:strings.LastIndex(path[:unix.PathMax-1], "/")]
	out, err := inDir(fits, "pwd", "-P")
	if err != nil || out != fits+"\n" {
		t.Errorf("pwd in a path of %d bytes: %d bytes, %v", len(fits), len(out), err)
	}
	tr.remount()
	if out, err := exec.Command("find", tr.path("deep"), "-name", "file").Output(); err != nil || !bytes.HasSuffix(out, []byte("/file\n")) {
		t.Errorf("find: %d bytes, %v", len(out), err)
	}
	if out, err := exec.Command("rm", "-r", tr.path("deep")).CombinedOutput(); err != nil {
		t.Errorf("rm -r: %v\n%s", err, out)
	}
}

func inDir(dir string, command ...string) (string, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	out, err := cmd.Output()
	return string(out), err
}

// TestMove moves a tree in and out by mv, which copies where rename says EXDEV.
func TestMove(t *testing.T) {
	tr := mountedTree(t)
	src := filepath.Join(tempDir(t), "src")
	if err := os.MkdirAll(src+"/sub", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(src+"/sub/file", pattern(5000, 1), 0o640), os.Symlink("sub", src+"/link")); err != nil {
		t.Fatal(err)
	}
	for _, step := range [][2]string{{src, tr.path("in")}, {tr.path("in"), tr.path("again")}, {tr.path("again"), src}} {
		if out, err := exec.Command("mv", step[0], step[1]).CombinedOutput(); err != nil {
			t.Fatalf("mv: %v\n%s", err, out)
		}
		wantFile(t, step[1]+"/sub/file", pattern(5000, 1))
		wantFile(t, step[1]+"/link/file", pattern(5000, 1))
		if _, err := os.Lstat(step[0]); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", step[0], err)
		}
	}
}
