package storetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// DiskTypes are the file systems that a Disk can have, and that lose what was not on
// its way to storage when the power is cut.
var DiskTypes = []string{"ext4", "xfs"}

// diskSize is enough for the smallest XFS, in bytes.
const diskSize = 400 << 20

// A Disk is a file system of a test, on a loop device, whose power can be cut.
type Disk struct {
	Root string // where it is mounted

	t     *testing.T
	image string
}

// NewDisk makes a disk of one of DiskTypes and mounts it until the end of the test,
// which it skips where that cannot be done.
func NewDisk(t *testing.T, fsType string) *Disk {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("not root")
	}
	mkfs, err := exec.LookPath("mkfs." + fsType)
	if err != nil {
		t.Skipf("no mkfs.%s", fsType)
	}
	dir := t.TempDir()
	d := &Disk{Root: filepath.Join(dir, "mnt"), t: t, image: filepath.Join(dir, "image")}
	if err := os.WriteFile(d.image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(d.image, diskSize); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(d.Root, 0o700); err != nil {
		t.Fatal(err)
	}
	d.run(mkfs, "-q", d.image)
	if out, err := exec.Command("mount", "-o", "loop", d.image, d.Root).CombinedOutput(); err != nil {
		t.Skipf("cannot mount an image: %s", out)
	}
	t.Cleanup(func() { exec.Command("umount", "-l", d.Root).Run() })
	return d
}

func (d *Disk) run(name string, args ...string) {
	d.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		d.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// Sync writes everything to the disk.
func (d *Disk) Sync() {
	d.t.Helper()
	d.run("sync", "-f", d.Root)
}

// Cut cuts the power: nothing is written any more, and all that uses the disk fails
// until Restore. The request is XFS_IOC_GOINGDOWN with NOLOGFLUSH, of
// fs/xfs/libxfs/xfs_fs.h, which ext4 has as EXT4_IOC_SHUTDOWN.
func (d *Disk) Cut() {
	d.t.Helper()
	f, err := os.Open(d.Root)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	const goingDown = 2<<30 | 4<<16 | 'X'<<8 | 125
	noLogFlush := uint32(2)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), goingDown, uintptr(unsafe.Pointer(&noLogFlush)))
	if errno != 0 {
		d.t.Skipf("the file system cannot be stopped: %v", errno)
	}
}

// Restore mounts the disk again. Nothing on it may be open.
func (d *Disk) Restore() {
	d.t.Helper()
	d.run("umount", d.Root)
	d.run("mount", "-o", "loop", d.image, d.Root)
}
