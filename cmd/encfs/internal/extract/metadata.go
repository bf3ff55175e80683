package extract

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"encfs/fs"
	"encfs/fs/store"
)

// Attributes in which POSIX ACLs are kept.
const (
	accessACL  = "system.posix_acl_access"
	defaultACL = "system.posix_acl_default"
)

// made is an object of ours that is not finished: open, or in a directory where
// nobody else may go.
type made struct {
	fd    int // -1: not open
	dir   int
	name  string
	bytes int64 // of data in it
}

// path returns a path for what takes no directory.
func (m made) path() string { return path.Join(fdPath(m.dir), m.name) }

func (m made) stat(st *unix.Stat_t) error {
	if m.fd >= 0 {
		return retry(func() error { return unix.Fstat(m.fd, st) })
	}
	return lstatat(m.dir, m.name, st)
}

func (m made) chown(uid, gid int) error {
	return retry(func() error {
		if m.fd >= 0 {
			return unix.Fchown(m.fd, uid, gid)
		}
		return unix.Fchownat(m.dir, m.name, uid, gid, unix.AT_SYMLINK_NOFOLLOW)
	})
}

func (m made) setXattr(name string, value []byte) error {
	return retry(func() error {
		if m.fd >= 0 {
			return unix.Fsetxattr(m.fd, name, value, 0)
		}
		return unix.Lsetxattr(m.path(), name, value, 0)
	})
}

// chmod is not for symbolic links.
func (m made) chmod(mode uint32) error {
	return retry(func() error {
		if m.fd >= 0 {
			return unix.Fchmod(m.fd, mode)
		}
		return unix.Fchmodat(m.dir, m.name, mode, 0)
	})
}

func (m made) setTimes(atime, mtime time.Time) error {
	times := []unix.Timespec{timespec(atime), timespec(mtime)}
	return retry(func() error {
		if m.fd >= 0 {
			return futimens(m.fd, times)
		}
		return unix.UtimesNanoAt(m.dir, m.name, times, unix.AT_SYMLINK_NOFOLLOW)
	})
}

func timespec(t time.Time) unix.Timespec {
	return unix.Timespec{Sec: t.Unix(), Nsec: int64(t.Nanosecond())}
}

// What CopyError.Op is, or begins with, where metadata could not be kept.
const (
	opOwner     = "owner"
	opMode      = "mode"
	opTimes     = "times"
	opAttribute = "attribute"
)

// apply gives an object the metadata of an inode, in the order in which one does not
// undo the other: a new owner takes away capabilities and set-user-ID bits, and with
// its mode an object may forbid even us to set attributes. It returns what could not
// be kept, other than what only root may do.
func (r *run) apply(m made, i *fs.Inode, a fs.Attr) (errs []error) {
	uid, gid, err := r.setOwner(m, a)
	if err != nil {
		errs = append(errs, &CopyError{opOwner, err})
	}
	mode := permissions(a, uid, gid)
	lostACL, lacks := r.setXattrs(m, i)
	errs = append(errs, lacks...)
	if lostACL != nil {
		// In the mode of an object with an ACL the group has what is the most for
		// anybody but the owner.
		mode &^= 0o070 &^ groupOf(lostACL)
	}
	if a.Mode&store.ModeType != store.ModeSymlink {
		if err := m.chmod(mode); err != nil {
			errs = append(errs, &CopyError{opMode, err})
		}
	}
	if err := m.setTimes(a.Atime, a.Mtime); err != nil {
		errs = append(errs, &CopyError{opTimes, err})
	}
	return errs
}

// noID is no user or group, though an image may have it: it makes chown(2) leave an
// object to whom it belongs, and say that it did what was asked for.
const noID = math.MaxUint32

// setOwner gives an object to its owner and its group, as far as we may, and returns
// what it has then.
func (r *run) setOwner(m made, a fs.Attr) (uid, gid uint32, err error) {
	var st unix.Stat_t
	if err := m.stat(&st); err != nil {
		return 0, 0, err
	}
	if st.Uid == a.UID && st.Gid == a.GID {
		return st.Uid, st.Gid, nil
	}
	err = unix.EINVAL
	if a.UID != noID && a.GID != noID {
		err = m.chown(int(a.UID), int(a.GID))
	}
	if err == nil {
		return a.UID, a.GID, nil
	}
	if st.Gid != a.GID && a.GID != noID && m.chown(-1, int(a.GID)) == nil { // as one of its members may
		st.Gid = a.GID
	}
	if err != unix.EPERM && err != unix.EINVAL { // EINVAL: no ID of this user namespace
		return st.Uid, st.Gid, err
	}
	if st.Uid != a.UID || st.Gid != a.GID {
		r.count.owners.Add(1)
	}
	return st.Uid, st.Gid, nil
}

// permissions returns the mode that an object gets when it has these owners: without
// what would give the rights of others than those it was meant for.
func permissions(a fs.Attr, uid, gid uint32) uint32 {
	mode := a.Mode & 0o7777
	if uid != a.UID {
		mode &^= unix.S_ISUID
	}
	if gid != a.GID && a.Mode&store.ModeType != store.ModeDir { // where it is no privilege
		mode &^= unix.S_ISGID
	}
	return mode
}

// setXattrs sets the extended attributes of an inode, and returns an access ACL that
// could not be set.
func (r *run) setXattrs(m made, i *fs.Inode) (lostACL []byte, errs []error) {
	names, err := r.v.ListXattr(i)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil, nil
	}
	if err != nil {
		return nil, []error{&CopyError{opAttribute + "s", err}}
	}
	for _, name := range names {
		value, err := r.v.GetXattr(i, name)
		if err == nil {
			err = m.setXattr(name, value)
		}
		switch {
		case err == nil:
			continue
		case privileged(name) && (errors.Is(err, unix.EPERM) || errors.Is(err, unix.EOPNOTSUPP)):
			r.count.attributes.Add(1)
			continue
		case name == accessACL:
			lostACL = value
		}
		errs = append(errs, &CopyError{fmt.Sprintf("%s %q", opAttribute, name), err})
	}
	return lostACL, errs
}

// privileged reports whether it needs privileges to set an attribute.
func privileged(name string) bool {
	return strings.HasPrefix(name, "security.") || strings.HasPrefix(name, "trusted.")
}

// groupOf returns the permissions of the owning group in an ACL as getxattr(2) gives
// it, see linux/posix_acl_xattr.h, as bits of a mode. Where there are none it is 0.
func groupOf(acl []byte) uint32 {
	const header, entry, tagGroupObj = 4, 8, 0x04
	for at := header; at+entry <= len(acl); at += entry {
		if binary.LittleEndian.Uint16(acl[at:]) == tagGroupObj {
			return uint32(binary.LittleEndian.Uint16(acl[at+2:])&7) << 3
		}
	}
	return 0
}
