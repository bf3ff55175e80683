package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// checkUnused returns an error if a file or device may be changed while it is read:
// if it or a partition of it is mounted, or for a file if a loop device can write to it. A mount in
// another namespace does not show, but keeps the device from being claimed.
func checkUnused(f *os.File, name string) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return failf(exitSource, "", "source %s: %w", name, err)
	}
	const hint = "unmount it, or read it as it is with --force"
	if st.Mode&unix.S_IFMT != unix.S_IFBLK {
		if loop := writableLoop(name); loop != "" {
			return failf(exitBusy, hint, "%s is in use by the loop device %s", name, loop)
		}
		return nil
	}
	mounts, err := readMounts()
	if err != nil {
		return err
	}
	number := deviceNumber{unix.Major(st.Rdev), unix.Minor(st.Rdev)}
	partitions := partitionDevices(number)
	for _, m := range mounts {
		at := deviceNumber{m.major, m.minor}
		if at == number {
			return failf(exitBusy, hint, "%s is mounted at %s", name, m.point)
		}
		if device, ok := partitions[at]; ok {
			return failf(exitBusy, "unmount it, give the device of another partition itself, or read it as it is with --force",
				"%s, a partition of %s, is mounted at %s", device, name, m.point)
		}
	}
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_EXCL|unix.O_CLOEXEC, 0)
	if err == unix.EBUSY {
		return failf(exitBusy, hint, "%s is in use", name)
	}
	if err == nil {
		unix.Close(fd)
	}
	return nil
}

// writableLoop returns a loop device that is attached to a file and not read-only,
// "" if there is none.
func writableLoop(name string) string {
	resolved, err := resolve(name)
	if err != nil {
		return ""
	}
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, file := range files {
		dir := filepath.Dir(filepath.Dir(file))
		backing, err := os.ReadFile(file)
		if err != nil || strings.TrimSuffix(string(backing), "\n") != resolved {
			continue
		}
		if readOnly, err := os.ReadFile(filepath.Join(dir, "ro")); err == nil && strings.TrimSpace(string(readOnly)) == "1" {
			continue
		}
		return "/dev/" + filepath.Base(dir)
	}
	return ""
}

// A deviceNumber is the number of a block device.
type deviceNumber struct{ major, minor uint32 }

// partitionDevices returns the partitions that the kernel knows of a disk, with
// the paths of their devices.
func partitionDevices(disk deviceNumber) map[deviceNumber]string {
	partitions := map[deviceNumber]string{}
	files, _ := filepath.Glob(fmt.Sprintf("/sys/dev/block/%d:%d/*/partition", disk.major, disk.minor))
	for _, file := range files {
		dir := filepath.Dir(file)
		var number deviceNumber
		text, err := os.ReadFile(filepath.Join(dir, "dev"))
		if err != nil {
			continue
		}
		if _, err := fmt.Sscanf(string(text), "%d:%d", &number.major, &number.minor); err == nil {
			partitions[number] = "/dev/" + filepath.Base(dir)
		}
	}
	return partitions
}
