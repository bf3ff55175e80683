package main

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// resolve returns path as /proc/self/mountinfo would name it: absolute and
// without symbolic links. The last part may be a mount whose server is gone,
// which cannot be looked at, or not exist.
func resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real, nil
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return "", err
	}
	return filepath.Join(parent, filepath.Base(abs)), nil
}

// checkMountPoint checks that a cipher directory can be mounted at point and
// returns the resolved path of point. nonEmpty allows a directory that is not
// empty.
func checkMountPoint(point, cipherDir string, nonEmpty bool) (string, error) {
	info, err := os.Stat(point)
	if err == nil {
		// The kernel may remember what stat says of a mount whose server is gone.
		err = unix.Statfs(point, new(unix.Statfs_t))
	}
	switch {
	case errors.Is(err, unix.ENOTCONN):
		return "", serverGone(point)
	case errors.Is(err, fs.ErrNotExist):
		return "", failf(exitMountPoint, "make it with: mkdir "+point, "mount point %s does not exist", point)
	case err != nil:
		return "", failf(exitMountPoint, "", "mount point: %w", err)
	case !info.IsDir():
		return "", failf(exitMountPoint, "choose an empty directory", "mount point %s is not a directory", point)
	}
	resolved, err := resolve(point)
	if err != nil {
		return "", failf(exitMountPoint, "", "mount point: %w", err)
	}
	if err := checkApart(resolved, info, cipherDir); err != nil {
		return "", err
	}
	mounts, err := readMounts()
	if err != nil {
		return "", err
	}
	if m, ok := findMount(mounts, resolved); ok && !nonEmpty {
		return "", failf(exitMountPoint, "choose an empty directory",
			"mount point %s is a mount already, of %s", point, m.source)
	}
	if !nonEmpty {
		if err := checkEmpty(point); err != nil {
			return "", err
		}
	}
	return resolved, nil
}

// serverGone is the error for a mount whose server has ended without unmounting.
func serverGone(point string) error {
	return failf(exitMountPoint, "clean up with: encfs umount "+point,
		"mount point %s: the program that served it is gone", point)
}

// checkApart checks that neither of mount point and cipher directory lies in
// the other: the mount would wait for itself. It compares the directories
// themselves, so that bind mounts do not deceive it.
func checkApart(point string, pointInfo fs.FileInfo, cipherDir string) error {
	cipherDir, err := resolve(cipherDir)
	if err != nil {
		return failf(exitSource, "", "%w", err)
	}
	cipherInfo, err := os.Stat(cipherDir)
	if err != nil {
		return failf(exitSource, "", "%w", err)
	}
	const hint = "choose a directory beside the cipher directory"
	switch {
	case os.SameFile(pointInfo, cipherInfo):
		return failf(exitMountPoint, hint, "mount point %s is the cipher directory itself", point)
	case liesIn(point, cipherInfo):
		return failf(exitMountPoint, hint, "mount point %s lies in the cipher directory %s", point, cipherDir)
	case liesIn(cipherDir, pointInfo):
		return failf(exitMountPoint, hint, "the cipher directory %s lies in the mount point %s", cipherDir, point)
	}
	return nil
}

// liesIn reports whether a directory above path, which is absolute and without
// symbolic links, is dir.
func liesIn(path string, dir fs.FileInfo) bool {
	for path != filepath.Dir(path) {
		path = filepath.Dir(path)
		if info, err := os.Stat(path); err == nil && os.SameFile(info, dir) {
			return true
		}
	}
	return false
}

func checkEmpty(point string) error {
	d, err := os.Open(point)
	if err != nil {
		return failf(exitMountPoint, "", "mount point: %w", err)
	}
	defer d.Close()
	if _, err := d.ReadDir(1); err != io.EOF {
		if err != nil {
			return failf(exitMountPoint, "", "mount point: %w", err)
		}
		return failf(exitMountPoint, "choose an empty directory, or -o nonempty hides what is there",
			"mount point %s is not empty", point)
	}
	return nil
}

// checkFUSE checks that this user can mount. Root mounts by itself, others
// through fusermount3, which may be called fusermount.
func checkFUSE(allowOther bool) error {
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	switch {
	case err == nil:
		f.Close()
	case errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0:
		// fusermount3 opens it as the user who calls.
		return failf(exitMountPoint, "as root: chmod 666 /dev/fuse", "FUSE is not available: %w", err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return failf(exitMountPoint, "load the kernel module with: modprobe fuse (in a container, pass it in with: --device /dev/fuse)",
			"FUSE is not available: no /dev/fuse")
	default:
		return failf(exitMountPoint, "", "FUSE is not available: %w", err)
	}
	if os.Geteuid() == 0 {
		return nil
	}
	if fusermount() == "" {
		return failf(exitMountPoint, "install it with: apt install fuse3 (or dnf install fuse3)",
			"FUSE is not available: no fusermount3")
	}
	if allowOther && !userAllowOther("/etc/fuse.conf") {
		return failf(exitMountPoint, "as root: echo user_allow_other >>/etc/fuse.conf",
			"--allow-other: /etc/fuse.conf lets only root do that")
	}
	return nil
}

// fusermount returns the path of the helper that mounts for ordinary users,
// empty where there is none.
func fusermount() string {
	for _, name := range []string{"fusermount3", "fusermount"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// userAllowOther reports whether a fuse.conf(5) file lets ordinary users mount
// with allow_other.
func userAllowOther(conf string) bool {
	f, err := os.Open(conf)
	if err != nil {
		return false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if strings.TrimSpace(lines.Text()) == "user_allow_other" {
			return true
		}
	}
	return false
}
