package extract

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestPowerCut extracts to a file system that stops right afterwards, as a power cut
// stops it: all is there when it is mounted again.
func TestPowerCut(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root")
	}
	for _, fsType := range []string{"ext4", "xfs"} {
		t.Run(fsType, func(t *testing.T) {
			mkfs, err := exec.LookPath("mkfs." + fsType)
			if err != nil {
				t.Skipf("no mkfs.%s", fsType)
			}
			run := func(name string, args ...string) {
				t.Helper()
				if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", name, err, out)
				}
			}
			dir := t.TempDir()
			image, mnt := filepath.Join(dir, "image"), filepath.Join(dir, "mnt")
			if err := os.WriteFile(image, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(image, 400<<20); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(mnt, 0o700); err != nil {
				t.Fatal(err)
			}
			run(mkfs, "-q", image)
			if out, err := exec.Command("mount", "-o", "loop", image, mnt).CombinedOutput(); err != nil {
				t.Skipf("cannot mount an image: %s", out)
			}
			t.Cleanup(func() { exec.Command("umount", mnt).Run() })

			v := newVolume(t)
			buildTree(t, v)
			want := snapVolume(t, v, "/")
			dest := filepath.Join(mnt, "dest")
			mustExtract(t, v, []string{"/"}, dest, Options{})
			shutDown(t, mnt)
			run("umount", mnt)
			run("mount", "-o", "loop", image, mnt)
			if diff := snapDir(t, dest).diff(want); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// shutDown stops the file system that has the path, without another write. The
// request is XFS_IOC_GOINGDOWN of fs/xfs/libxfs/xfs_fs.h, which ext4 has as
// EXT4_IOC_SHUTDOWN.
func shutDown(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const goingDown, noLogFlush = 0x8004587d, 2
	flags := uint32(noLogFlush)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), goingDown, uintptr(unsafe.Pointer(&flags))); errno != 0 {
		t.Fatalf("stop the file system: %v", errno)
	}
}
