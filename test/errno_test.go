package test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// pathCalls are the calls that take a path, each with harmless arguments
// besides. Those that make something there say so.
var pathCalls = []struct {
	name    string
	creates bool // an object of that name must not be there yet
	lstat   bool // it does not follow a symbolic link at the end
	call    func(path, other string) error
}{
	{"open", false, false, func(p, _ string) error { return openClose(p, unix.O_RDONLY) }},
	{"open for writing", false, false, func(p, _ string) error { return openClose(p, unix.O_WRONLY) }},
	{"stat", false, false, func(p, _ string) error { return unix.Stat(p, new(unix.Stat_t)) }},
	{"lstat", false, true, func(p, _ string) error { return unix.Lstat(p, new(unix.Stat_t)) }},
	{"access", false, false, func(p, _ string) error { return unix.Access(p, unix.F_OK) }},
	{"statfs", false, false, func(p, _ string) error { return unix.Statfs(p, new(unix.Statfs_t)) }},
	{"chmod", false, false, func(p, _ string) error { return unix.Chmod(p, 0o644) }},
	{"chown", false, false, func(p, _ string) error { return unix.Chown(p, -1, -1) }},
	{"lchown", false, true, func(p, _ string) error { return unix.Lchown(p, -1, -1) }},
	{"truncate", false, false, func(p, _ string) error { return unix.Truncate(p, 1) }},
	{"utimensat", false, false, func(p, _ string) error { return unix.UtimesNanoAt(unix.AT_FDCWD, p, utimesNow, 0) }},
	{"readlink", false, true, func(p, _ string) error { return second(unix.Readlink(p, make([]byte, 10))) }},
	{"unlink", false, true, func(p, _ string) error { return unix.Unlink(p) }},
	{"rmdir", false, true, func(p, _ string) error { return unix.Rmdir(p) }},
	{"setxattr", false, false, func(p, _ string) error { return unix.Setxattr(p, "user.a", nil, 0) }},
	{"getxattr", false, false, func(p, _ string) error { return second(unix.Getxattr(p, "user.a", nil)) }},
	{"listxattr", false, false, func(p, _ string) error { return second(unix.Listxattr(p, nil)) }},
	{"removexattr", false, false, func(p, _ string) error { return unix.Removexattr(p, "user.a") }},
	{"link from", false, true, func(p, o string) error { return unix.Link(p, o) }},
	{"rename from", false, true, func(p, o string) error { return unix.Rename(p, o) }},
	{"creat", true, false, func(p, _ string) error { return openClose(p, unix.O_CREAT|unix.O_WRONLY) }},
	{"creat O_EXCL", true, true, func(p, _ string) error { return openClose(p, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY) }},
	{"mkdir", true, true, func(p, _ string) error { return unix.Mkdir(p, 0o755) }},
	{"mkfifo", true, true, func(p, _ string) error { return unix.Mkfifo(p, 0o644) }},
	{"mknod", true, true, func(p, _ string) error { return unix.Mknod(p, unix.S_IFSOCK|0o644, 0) }},
	{"symlink", true, true, func(p, _ string) error { return unix.Symlink("x", p) }},
	{"link to", true, true, func(p, o string) error { return unix.Link(o+"-there", p) }},
	{"rename to", true, true, func(p, o string) error { return unix.Rename(o+"-there", p) }},
}

var utimesNow = []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}

func openClose(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o644)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// TestPathErrno gives each call paths that lead nowhere.
func TestPathErrno(t *testing.T) {
	tr := mountedTree(t)
	tr.plant("file", []byte("x"))
	tr.plant("other-there", []byte("x"))
	for _, err := range []error{
		os.Symlink("loop", tr.path("loop")), os.Symlink("none", tr.path("dangling")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("x", 256)
	longPath := tr.root + strings.Repeat("/.", unix.PathMax/2) + "/x"
	for _, c := range pathCalls {
		for _, tt := range []struct {
			what, path string
			want       syscall.Errno
		}{
			{"a file in the middle", tr.path("file") + "/x", unix.ENOTDIR},
			{"nothing in the middle", tr.path("none") + "/x", unix.ENOENT},
			{"a dangling link in the middle", tr.path("dangling") + "/x", unix.ENOENT},
			{"a loop in the middle", tr.path("loop") + "/x", unix.ELOOP},
			{"a name of 256 bytes", tr.path(long), unix.ENAMETOOLONG},
			{"a name of 256 bytes in the middle", tr.path(long) + "/x", unix.ENAMETOOLONG},
			{"a path of more than PATH_MAX", longPath, unix.ENAMETOOLONG},
			{"nothing at the end", tr.path("none"), unix.ENOENT},
			{"a loop at the end", tr.path("loop"), unix.ELOOP},
			{"no path", "", unix.ENOENT},
		} {
			if c.creates && tt.what == "nothing at the end" || c.lstat && tt.what == "a loop at the end" {
				continue
			}
			wantErrno(t, c.name+" with "+tt.what, c.call(tt.path, tr.path("other")), tt.want)
		}
		if c.creates && c.lstat {
			want := syscall.Errno(unix.EEXIST)
			if c.name == "rename to" {
				want = 0
			}
			wantErrno(t, c.name+" over a file", c.call(tr.path("file"), tr.path("other")), want)
		}
	}
	_, err := os.Lstat(tr.path("other"))
	wantErrno(t, "what none of them made", errnoOf(err), unix.ENOENT)
}

// TestPermissionErrno has each call refused to a user whom the modes keep out:
// without search permission on the way, without write permission in the
// directory, and without owning the object.
func TestPermissionErrno(t *testing.T) {
	tr, dir := openHouse(t)
	for _, err := range []error{
		os.Mkdir(tr.path("open/closed"), 0o700), os.Mkdir(tr.path("open/fixed"), 0o755),
		os.WriteFile(tr.path("open/closed/there"), []byte("x"), 0o666), os.WriteFile(tr.path("open/fixed/there"), []byte("x"), 0o644),
		os.Mkdir(tr.path("open/fixed/dir"), 0o755), os.Symlink("there", tr.path("open/fixed/link")),
		os.WriteFile(tr.path("open/other-there"), []byte("x"), 0o644), os.Chown(tr.path("open/other-there"), alice, alice),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	// What the owner alone may do, and what needs write permission, to a file
	// of somebody else's with mode 0644.
	owners := map[string]syscall.Errno{
		"chmod": unix.EPERM, "utimensat": unix.EACCES, "truncate": unix.EACCES, "open for writing": unix.EACCES,
		"setxattr": unix.EACCES, "removexattr": unix.EACCES, "unlink": unix.EACCES, "rename from": unix.EACCES,
		"rmdir": unix.EACCES, "readlink": unix.EINVAL, "getxattr": unix.ENODATA,
	}
	asUser(t, alice, alice, func() {
		for _, c := range pathCalls {
			wantErrno(t, c.name+" without search permission", c.call(dir+"/closed/there", dir+"/other"), unix.EACCES)
			if c.creates {
				wantErrno(t, c.name+" without write permission", c.call(dir+"/fixed/new", dir+"/other"), unix.EACCES)
				continue
			}
			if c.name == "link from" {
				continue // protected_hardlinks decides
			}
			wantErrno(t, c.name+" of another's file", c.call(dir+"/fixed/there", dir+"/other"), owners[c.name])
		}
		for _, tt := range []struct {
			what string
			err  error
			want syscall.Errno
		}{
			{"chown to oneself of another's", unix.Chown(dir+"/fixed/there", alice, -1), unix.EPERM},
			{"chgrp of another's", unix.Chown(dir+"/fixed/there", -1, alice), unix.EPERM},
			{"lchown of another's link", unix.Lchown(dir+"/fixed/link", alice, -1), unix.EPERM},
			{"chgrp to a group that one is not in", unix.Chown(dir+"/other-there", -1, team), unix.EPERM},
			{"chown to who one is", unix.Chown(dir+"/other-there", alice, alice), 0},
			{"O_NOATIME on another's", openClose(dir+"/fixed/there", unix.O_RDONLY|unix.O_NOATIME), unix.EPERM},
			{"O_NOATIME on one's own", openClose(dir+"/other-there", unix.O_RDONLY|unix.O_NOATIME), 0},
			{"O_TRUNC without write permission", openClose(dir+"/fixed/there", unix.O_RDONLY|unix.O_TRUNC), unix.EACCES},
			{"mknod of a device", unix.Mknod(dir+"/device", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))), unix.EPERM},
			{"rmdir in another's directory", unix.Rmdir(dir + "/fixed/dir"), unix.EACCES},
			{"rename of a directory out of another's", unix.Rename(dir+"/fixed/dir", dir+"/dir"), unix.EACCES},
			{"rename into another's", unix.Rename(dir+"/other-there", dir+"/fixed/new"), unix.EACCES},
			{"trusted attribute", unix.Setxattr(dir+"/other-there", "trusted.a", nil, 0), unix.EPERM},
			{"security attribute", unix.Setxattr(dir+"/other-there", "security.a", nil, 0), unix.EPERM},
		} {
			wantErrno(t, tt.what, tt.err, tt.want)
		}
	})
	wantFile(t, tr.path("open/fixed/there"), []byte("x"))
}

// TestOpenFlags opens things in ways that they do or do not allow.
func TestOpenFlags(t *testing.T) {
	tr := mountedTree(t)
	file, dir, link, fifo := tr.plant("file", []byte("12345")), tr.path("dir"), tr.path("link"), tr.path("fifo")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Symlink("file", link), os.Symlink("none", tr.path("dangling")), unix.Mkfifo(fifo, 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		what  string
		path  string
		flags int
		want  syscall.Errno
	}{
		{"O_NOFOLLOW on a link", link, unix.O_RDONLY | unix.O_NOFOLLOW, unix.ELOOP},
		{"O_NOFOLLOW on a file", file, unix.O_RDONLY | unix.O_NOFOLLOW, 0},
		{"O_PATH and O_NOFOLLOW on a link", link, unix.O_PATH | unix.O_NOFOLLOW, 0},
		{"O_DIRECTORY on a link to a file", link, unix.O_DIRECTORY, unix.ENOTDIR},
		{"O_EXCL on a link", link, unix.O_CREAT | unix.O_EXCL | unix.O_WRONLY, unix.EEXIST},
		{"O_EXCL on a dangling link", tr.path("dangling"), unix.O_CREAT | unix.O_EXCL | unix.O_WRONLY, unix.EEXIST},
		{"O_CREAT on a directory", dir, unix.O_CREAT | unix.O_WRONLY, unix.EISDIR},
		{"O_RDWR on a directory", dir, unix.O_RDWR, unix.EISDIR},
		{"O_TRUNC on a directory", dir, unix.O_RDONLY | unix.O_TRUNC, unix.EISDIR},
		{"O_RDONLY on a directory", dir, unix.O_RDONLY, 0},
		{"O_WRONLY on a FIFO that nobody reads", fifo, unix.O_WRONLY, unix.ENXIO},
		{"O_TMPFILE for reading", dir, unix.O_TMPFILE, unix.EINVAL},
		{"O_TMPFILE", dir, unix.O_TMPFILE | unix.O_RDWR, unix.EOPNOTSUPP},
		{"O_SYNC", file, unix.O_RDWR | unix.O_SYNC, 0},
		{"O_DIRECT", file, unix.O_RDWR | unix.O_DIRECT, 0},
		{"a file and a slash", file + "/", unix.O_RDONLY, unix.ENOTDIR},
		{"O_CREAT and a slash", tr.path("new") + "/", unix.O_CREAT | unix.O_WRONLY, unix.EISDIR},
		{"O_CREAT through a dangling link", tr.path("dangling"), unix.O_CREAT | unix.O_WRONLY, 0},
	} {
		wantErrno(t, tt.what, openClose(tt.path, tt.flags), tt.want)
	}
	wantFile(t, file, []byte("12345"))
	wantFile(t, tr.path("none"), nil)
	// Through a descriptor of O_PATH nothing can be read or changed.
	fd, err := unix.Open(file, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	wantErrno(t, "read by O_PATH", second(unix.Read(fd, make([]byte, 1))), unix.EBADF)
	wantErrno(t, "fchmod by O_PATH", unix.Fchmod(fd, 0o600), unix.EBADF)
	wantErrno(t, "openat below a file", second(unix.Openat(fd, "x", unix.O_RDONLY, 0)), unix.ENOTDIR)
	wantErrno(t, "FS_IOC_SETFLAGS", unix.IoctlSetPointerInt(openFile(t, file), unix.FS_IOC_SETFLAGS, 0x10), unix.ENOTTY)
}

// openFile opens a file for the rest of the test.
func openFile(t testing.TB, path string) int {
	t.Helper()
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// TestRunningProgram cannot be written to, nor a file that is being written run.
func TestRunningProgram(t *testing.T) {
	tr := mountedTree(t)
	sleep, err := os.ReadFile(needTool(t, "sleep"))
	if err != nil {
		t.Fatal(err)
	}
	p := tr.path("program")
	if err := os.WriteFile(p, sleep, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(p, "60")
	cmd.Args[0] = "sleep" // which it goes by where it is one of many in a program
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wantErrno(t, "open for writing", openClose(p, unix.O_WRONLY), unix.ETXTBSY)
	wantErrno(t, "truncate", unix.Truncate(p, 0), unix.ETXTBSY)
	wantErrno(t, "open for reading", openClose(p, unix.O_RDONLY), 0)
	cmd.Process.Kill()
	cmd.Wait()
	wantErrno(t, "open for writing when it has ended", openClose(p, unix.O_WRONLY), 0)
}
