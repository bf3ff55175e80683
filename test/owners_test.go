package test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// asUser calls f in a thread of its own that has the credentials of a user and
// nothing else of root's. f does not start goroutines.
func asUser(t *testing.T, uid, gid int, f func()) {
	t.Helper()
	needRoot(t)
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with it
		// The raw calls change this thread only, those of package syscall all.
		for _, call := range [][4]uintptr{
			{unix.SYS_SETGROUPS, 0, 0, 0},
			{unix.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid)},
			{unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)},
		} {
			if _, _, errno := unix.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 {
				done <- errno
				return
			}
		}
		defer close(done)
		f()
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// Users of the tests that are nobody in particular.
const (
	alice = 64001
	bob   = 64002
	team  = 64010
)

// openHouse is a mount by root that other users may use, with a directory in it
// where everybody may create.
func openHouse(t *testing.T) (tr *tree, dir string) {
	needRoot(t)
	tr = mountedTree(t, "--allow-other")
	dir = tr.path("open")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return tr, tr.reachable("open")
}

func TestFilesBelongToWhoMadeThem(t *testing.T) {
	tr, dir := openHouse(t)
	check := func(name string, uid, gid int, mode uint32) {
		t.Helper()
		var st unix.Stat_t
		if err := unix.Lstat(tr.path("open", name), &st); err != nil {
			t.Error(err)
			return
		}
		if int(st.Uid) != uid || int(st.Gid) != gid || st.Mode != mode {
			t.Errorf("%s: owner %d:%d, mode %#o; want %d:%d, %#o", name, st.Uid, st.Gid, st.Mode, uid, gid, mode)
		}
	}
	shared := tr.path("open", "shared")
	if err := errors.Join(os.Mkdir(shared, 0o755), os.Chown(shared, alice, team), unix.Chmod(shared, 0o2777)); err != nil {
		t.Fatal(err)
	}
	asUser(t, alice, alice, func() {
		for _, err := range []error{
			os.WriteFile(dir+"/file", []byte("alice"), 0o640),
			os.Mkdir(dir+"/dir", 0o750),
			os.Symlink("file", dir+"/link"),
			unix.Mkfifo(dir+"/fifo", 0o600),
			os.Mkdir(dir+"/shared/dir", 0o755),
			os.WriteFile(dir+"/shared/file", nil, 0o644),
		} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	for _, when := range []string{"new", "after a remount"} {
		t.Log(when)
		check("file", alice, alice, unix.S_IFREG|0o640)
		check("dir", alice, alice, unix.S_IFDIR|0o750)
		check("link", alice, alice, unix.S_IFLNK|0o777)
		check("fifo", alice, alice, unix.S_IFIFO|0o600)
		check("shared/dir", alice, team, unix.S_IFDIR|unix.S_ISGID|0o755)
		check("shared/file", alice, team, unix.S_IFREG|0o644)
		if when == "new" {
			tr.remount()
		}
	}
	checkPermissions(t, tr.reachable("open"))
}

// checkPermissions tries what others may not do with alice's files in dir.
func checkPermissions(t *testing.T, dir string) {
	asUser(t, bob, bob, func() {
		_, err := os.ReadFile(dir + "/file")
		wantErrno(t, "read another's file", errnoOf(err), unix.EACCES)
		wantErrno(t, "truncate it", unix.Truncate(dir+"/file", 0), unix.EACCES)
		wantErrno(t, "chmod it", unix.Chmod(dir+"/file", 0o777), unix.EPERM)
		wantErrno(t, "chown it", unix.Chown(dir+"/file", bob, bob), unix.EPERM)
		wantErrno(t, "set its times", unix.UtimesNanoAt(unix.AT_FDCWD, dir+"/file", make([]unix.Timespec, 2), 0), unix.EPERM)
		wantErrno(t, "set an attribute", unix.Setxattr(dir+"/file", "user.a", nil, 0), unix.EACCES)
		_, err = os.ReadDir(dir + "/dir")
		wantErrno(t, "list another's directory", errnoOf(err), unix.EACCES)
		wantErrno(t, "create in it", unix.Mkdir(dir+"/dir/x", 0o755), unix.EACCES)
	})
	asUser(t, alice, alice, func() {
		wantErrno(t, "chown to another", unix.Chown(dir+"/file", bob, -1), unix.EPERM)
		wantErrno(t, "chmod of one's own", unix.Chmod(dir+"/file", 0o640), 0)
		for _, mode := range []uint32{0o200, 0o444, 0} {
			p := fmt.Sprintf("%s/mode-%o", dir, mode)
			fd, err := unix.Open(p, unix.O_CREAT|unix.O_EXCL|unix.O_RDWR|unix.O_CLOEXEC, mode)
			if err != nil {
				t.Errorf("create with mode %#o: %v", mode, err)
				continue
			}
			if n, err := unix.Pwrite(fd, pattern(5000, 1), 0); n != 5000 {
				t.Errorf("write with mode %#o: %d, %v", mode, n, err)
			}
			buf := make([]byte, 6000)
			n, _ := preadFull(fd, buf, 0)
			sameBytes(t, p, buf[:n], pattern(5000, 1))
			unix.Close(fd)
			wantErrno(t, "unlink", unix.Unlink(p), 0)
		}
		for _, mode := range []uint32{0, 0o555, 0o100} {
			p := fmt.Sprintf("%s/dirmode-%o", dir, mode)
			wantErrno(t, fmt.Sprintf("mkdir -m %o", mode), unix.Mkdir(p, mode), 0)
			wantErrno(t, "create in it", unix.Mkdir(p+"/x", 0o755), unix.EACCES)
			wantErrno(t, "rmdir", unix.Rmdir(p), 0)
		}
	})
}

// TestOthersStayOut checks that without --allow-other even root's mount is
// root's alone.
func TestOthersStayOut(t *testing.T) {
	needRoot(t)
	tr := mountedTree(t)
	tr.plant("file", []byte("x"))
	dir := tr.reachable(".")
	asUser(t, alice, alice, func() {
		_, err := os.ReadFile(dir + "/file")
		wantErrno(t, "read", errnoOf(err), unix.EACCES)
	})
}

// TestACL has POSIX ACLs kept and enforced.
func TestACL(t *testing.T) {
	setfacl, getfacl := needTool(t, "setfacl"), needTool(t, "getfacl")
	tr, dir := openHouse(t)
	p := tr.plant("open/file", []byte("x"))
	if out, err := exec.Command("chmod", "600", p).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command(setfacl, "-m", fmt.Sprintf("u:%d:r", alice), p).CombinedOutput(); err != nil {
		if bytes.Contains(out, []byte("not supported")) {
			t.Skipf("no ACLs: %s", out)
		}
		t.Fatalf("setfacl: %v\n%s", err, out)
	}
	if out, err := exec.Command(getfacl, "-pn", p).Output(); err != nil || !bytes.Contains(out, fmt.Appendf(nil, "user:%d:r--", alice)) {
		t.Errorf("getfacl: %v\n%s", err, out)
	}
	asUser(t, alice, alice, func() { wantFile(t, dir+"/file", []byte("x")) })
	asUser(t, bob, bob, func() {
		_, err := os.ReadFile(dir + "/file")
		wantErrno(t, "read without an entry in the ACL", errnoOf(err), unix.EACCES)
	})
}

// TestDefaultACL has new objects inherit an ACL as they do below: the same done
// in both places gives the same.
func TestDefaultACL(t *testing.T) {
	setfacl, getfacl := needTool(t, "setfacl"), needTool(t, "getfacl")
	tr := mountedTree(t)
	plain := tempDir(t)
	describe := func(dir string) string {
		dir = filepath.Join(dir, "dir")
		script := fmt.Sprintf(`umask 027; mkdir -m 755 "$1" && cd "$1" && %s -d -m u:%d:rwx,g:%d:r . &&
			touch file && mkdir dir && mkdir dir/dir && touch dir/file && mkfifo fifo && %s -pn . file dir dir/dir dir/file fifo`,
			setfacl, alice, team, getfacl)
		out, err := exec.Command("sh", "-c", script, "sh", dir).CombinedOutput()
		if bytes.Contains(out, []byte("not supported")) {
			t.Skipf("no ACLs: %s", out)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	want := describe(plain)
	if got := describe(tr.root); got != want {
		t.Errorf("in the mount:\n%s\nbelow:\n%s", got, want)
	}
}

// TestNoACLsBelow lets other users in where the lower file system has no ACLs.
func TestNoACLsBelow(t *testing.T) {
	needFUSE(t)
	disk := smallDisk(t, func(t *testing.T, point string) {
		if err := unix.Mount("encfs-test", point, "ramfs", 0, ""); err != nil {
			t.Skipf("no ramfs: %v", err)
		}
	})
	tr := newTreeIn(t, disk)
	tr.mount("--allow-other")
	if err := os.Mkdir(tr.path("open"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := tr.plant("open/file", []byte("x"))
	if err := os.Chmod(p, 0o664); err != nil { // the group bits make the kernel look for an ACL
		t.Fatal(err)
	}
	dir := tr.reachable("open")
	asUser(t, alice, alice, func() { wantFile(t, dir+"/file", []byte("x")) })
	tr.umount()
}
