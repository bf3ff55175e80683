package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// nobody is who ordinary users are in these tests.
const nobody = 65534

// TestOrdinaryUser runs tests once more as a user who is not root, who mounts
// by fusermount3 and whose server has no more rights than other programs.
func TestOrdinaryUser(t *testing.T) {
	needRoot(t)
	needFUSE(t)
	needTool(t, "fusermount3")
	encfs, err := program()
	if err != nil {
		t.Fatal(err)
	}
	home := tempDir(t)
	for _, err := range []error{
		exec.Command("cp", encfs, filepath.Join(home, "encfs")).Run(),
		os.Chmod(filepath.Join(home, "encfs"), 0o755),
		os.Chown(home, nobody, nobody),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	tests := []string{
		"TestModesOfAnOrdinaryUser", "TestPosixTable", "TestModel", "TestErrno", "TestTimesSurvive", "TestUnlinkedFileGoesOn",
		"TestRemovedDirectoryInUse", "TestLinkCounts", "TestSymlinks", "TestNamesTooLong", "TestDeepPaths", "TestTar", "TestRsync",
		"TestPathErrno", "TestOpenFlags", "TestTimesOfOperations", "TestRangeOfTimes", "TestRenameOver", "TestStableInodes",
		"TestXattrCalls", "TestAllocate", "TestDirect", "TestAppend",
		"TestBackground", "TestBusy", "TestStaleMountPoint", "TestReadOnlyMount", "TestLostDirectoryHeader", "TestStress",
	}
	cmd := helper("ordinary-user", home,
		"-test.run=^("+strings.Join(tests, "|")+")$", "-test.v", "-test.timeout=5m", "-model.steps=1000")
	// What it mounts ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, name := range tests {
		if !strings.Contains(string(out), "--- PASS: "+name+" ") && !strings.Contains(string(out), "--- FAIL: "+name+" ") {
			t.Errorf("%s did not run:\n%s", name, out)
		}
	}
}

// ordinaryUserHelper becomes nobody and then the test program. The directory,
// which is nobody's, becomes /tmp, as it may lie where nobody may not go; and
// there is a /dev/fuse for everybody, as there is on most machines.
func ordinaryUserHelper(args []string) error {
	fuse := filepath.Join(args[0], "fuse")
	for _, err := range []error{
		unix.Mknod(fuse, unix.S_IFCHR, int(unix.Mkdev(10, 229))),
		os.Chmod(fuse, 0o666),
		unix.Mount(fuse, "/dev/fuse", "", unix.MS_BIND, ""),
	} {
		if err != nil {
			return fmt.Errorf("/dev/fuse: %w", err)
		}
	}
	if err := unix.Mount(args[0], "/tmp", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	for _, err := range []error{syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody)} {
		if err != nil {
			return err
		}
	}
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=/tmp", "TMPDIR=/tmp", programVariable + "=/tmp/encfs"}
	return syscall.Exec("/proc/self/exe", append([]string{os.Args[0]}, args[1:]...), environ)
}

// TestModesOfAnOrdinaryUser has the user whose server it is do what the modes
// of the objects allow their owner only because a descriptor is open, or not at
// all.
func TestModesOfAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may do anything; TestOrdinaryUser runs this as another")
	}
	tr := mountedTree(t)
	for _, mode := range []uint32{0o200, 0o444, 0o400, 0, 0o755} {
		p := tr.path(fmt.Sprintf("file-%o", mode))
		fd, err := unix.Open(p, unix.O_CREAT|unix.O_EXCL|unix.O_RDWR|unix.O_CLOEXEC, mode)
		if err != nil {
			t.Errorf("create with mode %#o: %v", mode, err)
			continue
		}
		if n, err := unix.Pwrite(fd, pattern(5000, 1), 0); n != 5000 {
			t.Errorf("write with mode %#o: %d, %v", mode, n, err)
		}
		wantErrno(t, "ftruncate", unix.Ftruncate(fd, 100), 0)
		wantErrno(t, "fsync", unix.Fsync(fd), 0)
		buf := make([]byte, 200)
		n, _ := preadFull(fd, buf, 0)
		sameBytes(t, p, buf[:n], pattern(100, 1))
		unix.Close(fd)
		var st unix.Stat_t
		if err := unix.Stat(p, &st); err != nil || st.Mode&0o777 != mode {
			t.Errorf("mode %#o, %v, want %#o", st.Mode&0o777, err, mode)
		}
		want := syscall.Errno(0)
		if mode&0o400 == 0 {
			want = unix.EACCES
		}
		_, err = os.ReadFile(p)
		wantErrno(t, fmt.Sprintf("read with mode %#o", mode), errnoOf(err), want)
		want = 0
		if mode&0o200 == 0 {
			want = unix.EACCES
		}
		wantErrno(t, fmt.Sprintf("truncate with mode %#o", mode), unix.Truncate(p, 50), want)
		wantErrno(t, "link", unix.Link(p, p+"-link"), 0)
		wantErrno(t, "chmod", unix.Chmod(p, 0o600), 0)
		size := 100
		if mode&0o200 != 0 {
			size = 50
		}
		wantFile(t, p, pattern(100, 1)[:size])
		wantErrno(t, "unlink", unix.Unlink(p), 0)
	}
	for _, mode := range []uint32{0, 0o555, 0o100, 0o300, 0o400} {
		p := tr.path(fmt.Sprintf("dir-%o", mode))
		wantErrno(t, fmt.Sprintf("mkdir -m %o", mode), unix.Mkdir(p, mode), 0)
		want := syscall.Errno(unix.EACCES)
		if mode&0o300 == 0o300 {
			want = 0
		}
		wantErrno(t, fmt.Sprintf("create in a directory of mode %#o", mode), unix.Mkdir(p+"/x", 0o755), want)
		if want == 0 {
			wantErrno(t, "rmdir", unix.Rmdir(p+"/x"), 0)
		}
		wantErrno(t, "rename", unix.Rename(p, p+"-new"), 0)
		var st unix.Stat_t
		if err := unix.Stat(p+"-new", &st); err != nil || st.Mode&0o777 != mode {
			t.Errorf("mode %#o, %v, want %#o", st.Mode&0o777, err, mode)
		}
		wantErrno(t, fmt.Sprintf("rmdir with mode %#o", mode), unix.Rmdir(p+"-new"), 0)
	}
	// They are as good after a remount, when nothing is open.
	for _, mode := range []uint32{0, 0o300, 0o555} {
		if err := unix.Mkdir(tr.path(fmt.Sprintf("later-%o", mode)), mode); err != nil {
			t.Error(err)
		}
	}
	tr.remount()
	for _, mode := range []uint32{0, 0o300, 0o555} {
		p := tr.path(fmt.Sprintf("later-%o", mode))
		want := syscall.Errno(0)
		if mode&0o400 == 0 {
			want = unix.EACCES
		}
		_, err := os.ReadDir(p)
		wantErrno(t, fmt.Sprintf("list a directory of mode %#o", mode), errnoOf(err), want)
		wantErrno(t, "rmdir", unix.Rmdir(p), 0)
	}
	tr.umount()
	wantNoTemporaries(t, tr)
}
