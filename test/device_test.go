package test

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"encfs/fs/ext4/ext4test"
)

// TestDevice opens block devices: a whole disk with two partitions, and each of
// them. One that is mounted, or the disk of it, is refused unless it is forced.
func TestDevice(t *testing.T) {
	needRoot(t)
	needTool(t, "losetup")
	addpart := needTool(t, "addpart")
	const sector, align = 512, 1 << 20
	disk := make([]byte, align)
	disk[510], disk[511] = 0x55, 0xAA
	var starts []int
	for n, name := range []string{"multi", "no-encryption"} {
		img := ext4test.Get(name).Image(t)
		starts = append(starts, len(disk)/sector)
		e := disk[446+16*n:]
		e[4] = 0x83
		binary.LittleEndian.PutUint32(e[8:], uint32(len(disk)/sector))
		binary.LittleEndian.PutUint32(e[12:], uint32(len(img)/sector))
		disk = append(disk, img...)
		disk = append(disk, make([]byte, -len(disk)&(align-1))...)
	}
	dir := tempDir(t)
	img, mnt := filepath.Join(dir, "disk"), filepath.Join(dir, "mnt")
	if err := os.WriteFile(img, disk, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(mnt, 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("losetup", "--find", "--show", "--partscan", img).CombinedOutput()
	if err != nil {
		t.Skipf("no loop device: %v\n%s", err, out)
	}
	device := strings.TrimSpace(string(out))
	defer func() {
		if out, err := exec.Command("losetup", "--detach", device).CombinedOutput(); err != nil {
			t.Errorf("losetup: %v\n%s", err, out)
		}
	}()
	part := device + "p2"
	if _, err := os.Stat(part); err != nil { // by a kernel that reads no tables
		size := binary.LittleEndian.Uint32(disk[446+16+12:])
		if out, err := exec.Command(addpart, device, "2", strconv.Itoa(starts[1]), fmt.Sprint(size)).CombinedOutput(); err != nil {
			t.Skipf("no partitions of loop devices: %v\n%s", err, out)
		}
		defer exec.Command("delpart", device, "2").Run()
	}
	for n := 0; ; n++ {
		if _, err := os.Stat(part); err == nil {
			break
		}
		if n == 50 {
			t.Skipf("no %s", part)
		}
		time.Sleep(100 * time.Millisecond)
	}
	succeeds := func(args ...string) {
		t.Helper()
		if out := encfs(t, append([]string{"ls", "--locked"}, args...)...); !strings.Contains(out, "lost+found") {
			t.Errorf("encfs ls %q: %s", args, out)
		}
	}
	refused := func(want string, args ...string) {
		t.Helper()
		out, code := tryEncfs(t, append([]string{"ls", "--locked"}, args...)...)
		if code != 15 || !strings.Contains(out, want) {
			t.Errorf("encfs ls %q: exit code %d, want 15\n%s", args, code, out)
		}
	}
	succeeds(part)
	succeeds("--partition", "1", device)
	refused("in use by the loop device "+device, "--partition", "1", img)
	succeeds("--force", "--partition", "1", img)

	if err := unix.Mount(part, mnt, "ext4", unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Unmount(mnt, 0); err != nil {
			t.Error(err)
		}
	}()
	refused(part+" is mounted at "+mnt, part)
	refused(part+", a partition of "+device+", is mounted at "+mnt, "--partition", "1", device)
	refused("is mounted at", "--partition", "2", device)
	succeeds("--force", part)
	succeeds("--force", "--partition", "2", device)
}
