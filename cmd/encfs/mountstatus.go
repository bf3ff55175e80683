package main

import (
	"encoding/json"
	"errors"

	"golang.org/x/sys/unix"

	"encfs/fs"
)

// A mountStatus is one of our mounts with what it tells of itself.
type mountStatus struct {
	mountEntry
	status map[string]any // as JSON has it, and "mountpoint"
}

// findSourceMount returns our mount at a path, or else that of the source there,
// nil if there is none. partition is that of a disk, 0 for any. With an error the
// status has the mount point alone.
func findSourceMount(mounts []mountEntry, path string, partition int) (*mountStatus, error) {
	if m, ok := findMount(mounts, path); ok && m.fsType == fuseType {
		return readMountStatus(m)
	}
	for n := len(mounts) - 1; n >= 0; n-- {
		if m := mounts[n]; m.fsType == fuseType && m.source == path {
			s, err := readMountStatus(m)
			if err != nil || partition == 0 || s.partition() == partition {
				return s, err
			}
		}
	}
	return nil, nil
}

// readMountStatus asks a mount how it works.
func readMountStatus(m mountEntry) (*mountStatus, error) {
	s := &mountStatus{m, map[string]any{"mountpoint": m.point}}
	buf := make([]byte, 64<<10)
	n, err := unix.Getxattr(m.point, fs.StatusXattr, buf)
	if errors.Is(err, unix.ENOTCONN) {
		return s, serverGone(m.point)
	}
	if errors.Is(err, unix.EACCES) && m.owner() != "" { // FUSE stops root, too
		return s, failf(exitMountPoint, "ask as that user", "%s is a mount of %s, and nobody else may look into it", m.point, userName(m.owner()))
	}
	if err == nil {
		err = json.Unmarshal(buf[:n], &s.status)
	}
	if err != nil {
		return s, failf(exitMountPoint, "", "mount point %s: %w", m.point, err)
	}
	return s, nil
}

// partition returns the partition that was asked for, 0 if none was.
func (s *mountStatus) partition() int {
	n, _ := s.status["partition"].(float64)
	return int(n)
}

// takeKeys returns the names of the keys that the mount of an image has, and takes
// them from the status, as the policies show them.
func (s *mountStatus) takeKeys() []string {
	if s == nil {
		return nil
	}
	var names []string
	list, _ := s.status["keys"].([]any)
	for _, name := range list {
		if text, ok := name.(string); ok {
			names = append(names, text)
		}
	}
	delete(s.status, "keys")
	return names
}
