package extract

import (
	"bytes"
	"errors"

	"golang.org/x/sys/unix"

	"encfs/fs"
	"encfs/fs/store"
)

// isComplete reports whether the copy of an object is there from an earlier run: of
// the same type, size, time, owner, mode and attributes. Since an object gets its name
// after all these, its contents are there too.
func (r *run) isComplete(d *directory, name string, i *fs.Inode, a fs.Attr) bool {
	var st unix.Stat_t
	if err := lstatat(d.fd, name, &st); err != nil {
		return false
	}
	typ := a.Mode & store.ModeType
	if st.Mode&unix.S_IFMT != typ || st.Mtim != timespec(a.Mtime) ||
		typ != store.ModeSymlink && st.Mode&0o7777 != permissions(a, st.Uid, st.Gid) ||
		r.root && (st.Uid != a.UID || st.Gid != a.GID) {
		return false
	}
	switch typ {
	case store.ModeRegular:
		if st.Size != a.Size {
			return false
		}
	case store.ModeSymlink:
		target, err := r.v.Readlink(i)
		if err != nil || !hasTarget(d.fd, name, target) {
			return false
		}
	case store.ModeChar, store.ModeBlock:
		if st.Rdev != a.Rdev {
			return false
		}
	}
	return r.hasXattrs(d, name, i)
}

// hasTarget reports whether a symbolic link has a target.
func hasTarget(dir int, name, target string) bool {
	buf := make([]byte, len(target)+1)
	n, err := unix.Readlinkat(dir, name, buf)
	return err == nil && string(buf[:n]) == target
}

// hasXattrs reports whether an object has the attributes of an inode, without those
// that only root may set unless we are.
func (r *run) hasXattrs(d *directory, name string, i *fs.Inode) bool {
	names, err := r.v.ListXattr(i)
	if err != nil {
		return errors.Is(err, unix.EOPNOTSUPP)
	}
	m := made{fd: -1, dir: d.fd, name: name}
	for _, attr := range names {
		if privileged(attr) && !r.root {
			continue
		}
		value, err := r.v.GetXattr(i, attr)
		if err != nil {
			return false
		}
		got := make([]byte, len(value)+1)
		n, err := unix.Lgetxattr(m.path(), attr, got)
		if err != nil || !bytes.Equal(got[:n], value) {
			return false
		}
	}
	return true
}
