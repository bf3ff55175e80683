package fs

import (
	"strings"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"encfs/fs/store"
)

// Requests about names and attributes, in the order of linux/fuse.h.

func (f *FS) Lookup(_ <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	i, a, err := f.v.Lookup(f.inode(h.NodeId), name)
	if err != nil {
		if Errno(err) == syscall.ENOENT && f.cache > 0 {
			// A negative entry: node number 0, and for how long it holds.
			out.SetEntryTimeout(f.cache)
			return fuse.OK
		}
		return status(err)
	}
	f.entry(i, &a, out)
	return fuse.OK
}

func (f *FS) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	i := f.inode(in.NodeId)
	if in.Flags()&fuse.FUSE_GETATTR_FH != 0 && f.noOpen {
		// The kernel wants the size of a file that somebody reads.
		if err := f.v.checkSize(i); err != nil {
			return status(err)
		}
	}
	if e := i.fence.Load(); e != nil {
		f.ahead.asked(e, in.Pid)
	}
	return f.replyAttr(i, out)
}

func (f *FS) replyAttr(i *Inode, out *fuse.AttrOut) fuse.Status {
	a, err := f.v.Attr(i)
	if err != nil {
		return status(err)
	}
	out.SetTimeout(f.attrTimeout(i, &a))
	f.attr(&a, &out.Attr)
	return fuse.OK
}

func (f *FS) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	i := f.inode(in.NodeId)
	if size, ok := in.GetSize(); ok {
		if s := f.truncate(in, i, int64(size)); !s.Ok() {
			return s
		}
	}
	if set, any := setAttrOf(in); any {
		if err := f.v.SetAttr(i, set); err != nil {
			return status(err)
		}
	}
	return f.replyAttr(i, out)
}

func (f *FS) truncate(in *fuse.SetAttrIn, i *Inode, size int64) fuse.Status {
	var drop func() error
	if in.Valid&fuse.FATTR_KILL_SUIDGID != 0 {
		var err error
		if drop, err = f.dropping(in.NodeId); err != nil {
			return status(err)
		}
	}
	err := f.v.Truncate(i, size)
	if err == nil && drop != nil {
		err = drop()
	}
	return status(err)
}

// setAttrOf translates a request for other attributes than the size, and
// reports whether there is one.
func setAttrOf(in *fuse.SetAttrIn) (set store.SetAttr, any bool) {
	if mode, ok := in.GetMode(); ok {
		set.Mode, any = &mode, true
	}
	if uid, ok := in.GetUID(); ok {
		set.UID, any = &uid, true
	}
	if gid, ok := in.GetGID(); ok {
		set.GID, any = &gid, true
	}
	if in.Valid&fuse.FATTR_ATIME != 0 {
		set.AtimeNow, any = in.Valid&fuse.FATTR_ATIME_NOW != 0, true
		if !set.AtimeNow {
			t := time.Unix(int64(in.Atime), int64(in.Atimensec))
			set.Atime = &t
		}
	}
	if in.Valid&fuse.FATTR_MTIME != 0 {
		set.MtimeNow, any = in.Valid&fuse.FATTR_MTIME_NOW != 0, true
		if !set.MtimeNow {
			t := time.Unix(int64(in.Mtime), int64(in.Mtimensec))
			set.Mtime = &t
		}
	}
	return set, any
}

func (f *FS) Readlink(_ <-chan struct{}, h *fuse.InHeader) ([]byte, fuse.Status) {
	target, err := f.v.Readlink(f.inode(h.NodeId))
	return []byte(target), status(err)
}

// make answers a request that makes an object with one of the volume's methods.
func (f *FS) make(h *fuse.InHeader, out *fuse.EntryOut, create func(dir *Inode, o Owner) (*Inode, Attr, error)) fuse.Status {
	dir := f.inode(h.NodeId)
	o, err := f.owner(dir, h.Owner)
	if err != nil {
		return status(err)
	}
	i, a, err := create(dir, o)
	if err != nil {
		return status(err)
	}
	f.entry(i, &a, out)
	return fuse.OK
}

// mode returns the permissions of a new object: what the caller asks for less
// its umask, which does not count where the directory has a default ACL.
func (f *FS) mode(dir *Inode, mode, umask uint32) uint32 {
	if _, err := f.v.GetXattr(dir, defaultACL); err == nil {
		return mode
	}
	return mode &^ (umask & 0o777)
}

func (f *FS) Symlink(_ <-chan struct{}, h *fuse.InHeader, target, name string, out *fuse.EntryOut) fuse.Status {
	return f.make(h, out, func(dir *Inode, o Owner) (*Inode, Attr, error) {
		return f.v.Symlink(dir, name, target, o)
	})
}

func (f *FS) Mknod(_ <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	return f.make(&in.InHeader, out, func(dir *Inode, o Owner) (*Inode, Attr, error) {
		return f.v.Mknod(dir, name, f.mode(dir, in.Mode, in.Umask), uint64(in.Rdev), o)
	})
}

func (f *FS) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	return f.make(&in.InHeader, out, func(dir *Inode, o Owner) (*Inode, Attr, error) {
		return f.v.Mkdir(dir, name, f.mode(dir, in.Mode, in.Umask), o)
	})
}

func (f *FS) Create(_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	s := f.make(&in.InHeader, &out.EntryOut, func(dir *Inode, o Owner) (*Inode, Attr, error) {
		i, a, err := f.v.Create(dir, name, f.mode(dir, in.Mode, in.Umask), o)
		if Errno(err) == syscall.EEXIST && in.Flags&syscall.O_EXCL == 0 {
			// It is there since the kernel looked: another mount made it. To
			// open it here would be without a check of its permissions. After
			// ESTALE the kernel looks again and opens what it finds.
			err = syscall.ESTALE
		}
		if err == nil && f.noOpen {
			err = f.v.CloseFile(i) // the kernel has it open by itself
		}
		return i, a, err
	})
	if s.Ok() {
		f.opened(&out.OpenOut)
	}
	return s
}

func (f *FS) Unlink(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	return status(f.v.Unlink(f.inode(h.NodeId), name))
}

func (f *FS) Rmdir(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	return status(f.v.Rmdir(f.inode(h.NodeId), name))
}

func (f *FS) Rename(_ <-chan struct{}, in *fuse.RenameIn, oldName, newName string) fuse.Status {
	return status(f.v.Rename(f.inode(in.NodeId), oldName, f.inode(in.Newdir), newName, uint(in.Flags)))
}

func (f *FS) Link(_ <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	i := f.inode(in.Oldnodeid)
	a, err := f.v.Link(i, f.inode(in.NodeId), name)
	if err != nil {
		return status(err)
	}
	f.entry(i, &a, out)
	return fuse.OK
}

// Extended attributes. The kernel asks for the size with an empty buffer.

func (f *FS) GetXAttr(_ <-chan struct{}, h *fuse.InHeader, name string, dest []byte) (uint32, fuse.Status) {
	value, err := f.getXattr(f.inode(h.NodeId), name)
	return fillXattr(dest, value, err)
}

// StatusXattr is the name of the attribute of a mount's root that tells, in
// JSON, how the mount works. It is not listed.
const StatusXattr = "user.encfs.status"

func (f *FS) getXattr(i *Inode, name string) ([]byte, error) {
	if i == f.v.Root() && name == StatusXattr {
		return f.status()
	}
	value, err := f.v.GetXattr(i, name)
	if (name == accessACL || name == defaultACL) && Errno(err) == syscall.EOPNOTSUPP {
		// To the kernel, which looks at ACLs by itself, it must be the same
		// whether an object has none or cannot have one.
		return nil, syscall.ENODATA
	}
	return value, err
}

func (f *FS) ListXAttr(_ <-chan struct{}, h *fuse.InHeader, dest []byte) (uint32, fuse.Status) {
	names, err := f.v.ListXattr(f.inode(h.NodeId))
	var list []byte
	for _, n := range names {
		if h.Uid != 0 && strings.HasPrefix(n, trustedPrefix) {
			continue // nor does the kernel show them to other users elsewhere
		}
		list = append(append(list, n...), 0)
	}
	return fillXattr(dest, list, err)
}

func fillXattr(dest, value []byte, err error) (uint32, fuse.Status) {
	switch {
	case err != nil:
		return 0, status(err)
	case len(value) > len(dest):
		return uint32(len(value)), fuse.ERANGE
	}
	return uint32(copy(dest, value)), fuse.OK
}

func (f *FS) SetXAttr(_ <-chan struct{}, in *fuse.SetXAttrIn, name string, data []byte) fuse.Status {
	i := f.inode(in.NodeId)
	err := f.v.SetXattr(i, name, data, int(in.Flags))
	if err == nil && in.SetXAttrFlags&fuse.SETXATTR_ACL_KILL_SGID != 0 {
		err = f.dropSetGID(i)
	}
	return status(err)
}

// dropSetGID clears the set-group-ID bit of an inode whose ACL was set by somebody
// outside of its group, as the kernel does it on its own file systems.
func (f *FS) dropSetGID(i *Inode) error {
	a, err := f.v.Attr(i)
	if err != nil || a.Mode&modeSetGID == 0 {
		return err
	}
	mode := a.Mode &^ (store.ModeType | modeSetGID)
	return f.v.SetAttr(i, store.SetAttr{Mode: &mode})
}

func (f *FS) RemoveXAttr(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	return status(f.v.RemoveXattr(f.inode(h.NodeId), name))
}
