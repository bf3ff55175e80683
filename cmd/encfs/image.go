package main

import (
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"encfs/fs"
	"encfs/fs/ext4"
	"encfs/fs/store"
	"encfs/keys"
)

// openImage opens the file system in a file or block device, which is only read.
// One that others may change meanwhile is refused, unless force is set.
func openImage(name string, force bool) (*ext4.Store, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, failf(exitSource, "", "source: %w", err)
	}
	st, err := func() (*ext4.Store, error) {
		if !force {
			if err := checkUnused(f, name); err != nil {
				return nil, err
			}
		}
		size, err := f.Seek(0, io.SeekEnd) // of devices too
		if err != nil {
			return nil, failf(exitSource, "", "source: %w", err)
		}
		return ext4.Open(f, size, ext4.Options{})
	}()
	if err != nil {
		f.Close()
		return nil, imageError(name, err)
	}
	return st, nil
}

// imageError gives the errors of opening an image their exit codes.
func imageError(name string, err error) error {
	if e, ok := errors.AsType[*ext4.NotExt4Error](err); ok {
		return failf(exitSource, sourceHint, "source %s is not recognised: %s", name, e.Found)
	}
	if e, ok := errors.AsType[*ext4.UnsupportedError](err); ok {
		return failf(exitUnsupported, "", "source %s: %w", name, e)
	}
	if e, ok := errors.AsType[*ext4.TruncatedError](err); ok {
		return failf(exitSource, "", "source %s: %w", name, e)
	}
	if e, ok := errors.AsType[*store.DamagedError](err); ok {
		return failf(exitSource, "e2fsck may repair a copy of it", "source %s: %w", name, e)
	}
	return err
}

// checkUnused returns an error if a file or device may be changed while it is read:
// if it is mounted, or for a file if a loop device can write to it. A mount in
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
	for _, m := range mounts {
		if m.major == unix.Major(st.Rdev) && m.minor == unix.Minor(st.Rdev) {
			return failf(exitBusy, hint, "%s is mounted at %s", name, m.point)
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

// openImageVolume opens an image with the keys in a ring, which it takes over.
func openImageVolume(source string, ring *keys.Keyring, force bool, o fs.Options) (*fs.Volume, error) {
	st, err := openImage(source, force)
	if err != nil {
		ring.Close()
		return nil, err
	}
	v, err := fs.NewVolume(st, ring, o)
	if err != nil {
		st.Close()
		ring.Close()
		return nil, err
	}
	return v, nil
}

// openImageForReading is openToRead for an image.
func openImageForReading(source string, k *keyFlags, drivers driverOptions, o fs.Options, c console) (v *fs.Volume, err error) {
	if o.Drivers, err = drivers.table(o.Log); err != nil {
		return nil, err
	}
	locked, err := openImageVolume(source, new(keys.Keyring), k.force, fs.Options{})
	if err != nil {
		return nil, err
	}
	mks, err := k.unlockImage(source, locked, c)
	locked.Close()
	if err != nil {
		return nil, err
	}
	return openImageVolume(source, mks.ring(), k.force, o)
}

// An encryptedTree is a directory of an image that is encrypted in one that is not:
// the top of what has a policy.
type encryptedTree struct {
	path   string
	policy keys.Policy
	err    error // what is wrong with the policy
}

// encryptedTrees calls f for the tops of what is encrypted in an image until it
// returns false. It goes through all directories that are not encrypted, and
// returns what cannot be read of them.
func encryptedTrees(v *fs.Volume, f func(encryptedTree) bool) error {
	var errs []error
	queue := []string{"/"}
	for len(queue) > 0 {
		dir := queue[0]
		queue = queue[1:]
		i, a, err := v.Walk(dir)
		if err != nil {
			errs = append(errs, plainError(dir, err))
			continue
		}
		if a.Mode&store.ModeType != store.ModeDir {
			v.Release(i, 1)
			continue
		}
		policy, encrypted, err := v.PolicyOf(i)
		if encrypted || err != nil {
			v.Release(i, 1)
			if !f(encryptedTree{dir, policy, err}) {
				break
			}
			continue
		}
		entries, err := v.ReadDir(i)
		v.Release(i, 1)
		if err != nil {
			errs = append(errs, plainError(dir, err))
		}
		for _, e := range entries {
			if e.Type == store.ModeDir || e.Type == 0 {
				queue = append(queue, path.Join(dir, e.Name))
			}
		}
	}
	return errors.Join(errs...)
}
