package extract

import (
	"errors"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"encfs/fs"
	"encfs/fs/store"
)

// A directory is one of the destination in which objects are made.
type directory struct {
	parent *directory // nil: the top
	source source     // where it is in the source
	fd     int
	inode  *fs.Inode // in the source; nil: no copy of a directory, only one to make copies in
	attr   fs.Attr   // of inode

	// left counts the objects in it that are not finished, and one for the walk.
	left atomic.Int64
}

// newDirectory returns a directory, with one object left: the walk through it.
func newDirectory(parent *directory, s source, fd int, i *fs.Inode, a fs.Attr) *directory {
	d := &directory{parent: parent, source: s, fd: fd, inode: i, attr: a}
	d.left.Store(1)
	return d
}

// entry says where an entry is in the source.
func (d *directory) entry(e fs.DirEntry) source { return source{&d.source, e.Name} }

// walk copies what is in a directory, and leaves it.
func (r *run) walk(d *directory) {
	defer r.leave(d)
	entries, bad, err := r.v.ReadDirAll(d.inode)
	if err != nil {
		r.lack(d.source, err)
	}
	for _, err := range bad {
		r.fail(d.source, err)
	}
	for _, e := range entries {
		if r.ctx.Err() != nil {
			return
		}
		d.left.Add(1)
		if e.Type == store.ModeDir || e.Type == 0 {
			r.step(d, e)
			continue
		}
		r.submit(func(w *worker) {
			defer r.leave(d)
			if i, a, ok := r.lookup(d, e); ok {
				defer r.v.Release(i, 1)
				r.object(w, d, e.Name, d.entry(e), i, a)
			}
		})
	}
}

// step copies an entry that is a directory, or perhaps one.
func (r *run) step(d *directory, e fs.DirEntry) {
	i, a, ok := r.lookup(d, e)
	switch {
	case !ok:
		r.leave(d)
	case a.Mode&store.ModeType == store.ModeDir:
		r.descend(d, e.Name, d.entry(e), i, a)
		r.leave(d)
	default:
		r.submit(func(w *worker) {
			defer r.leave(d)
			defer r.v.Release(i, 1)
			r.object(w, d, e.Name, d.entry(e), i, a)
		})
	}
}

// lookup finds the inode of an entry, or reports why it cannot be found.
func (r *run) lookup(d *directory, e fs.DirEntry) (*fs.Inode, fs.Attr, bool) {
	i, a, err := r.v.LookupEntry(d.inode, e)
	if err != nil {
		r.fail(d.entry(e), err)
		return nil, a, false
	}
	return i, a, true
}

// descend makes the copy of a directory, which is at s in the source, in d, and of
// all that is in it. It takes over the reference to the inode.
func (r *run) descend(d *directory, name string, s source, i *fs.Inode, a fs.Attr) {
	fd, err := -1, errSecondName
	if r.seen.Add(a) {
		fd, err = r.enter(d, name)
	}
	if err != nil {
		r.fail(s, err)
		r.v.Release(i, 1)
		return
	}
	d.left.Add(1)
	r.walk(newDirectory(d, s, fd, i, a))
}

// enter makes a directory in d, for us alone until it is finished, and opens it. One
// that is there is opened if the run goes on with an earlier one.
func (r *run) enter(d *directory, name string) (fd int, err error) {
	if err := r.checkName(d, name); err != nil {
		return -1, err
	}
	err = retry(func() error { return unix.Mkdirat(d.fd, name, 0o700) })
	if err != nil && !(err == unix.EEXIST && r.o.Resume) {
		return -1, &CopyError{"make directory", err}
	}
	return r.openDir(d.fd, name)
}

// openDir opens a directory and keeps others out of it until it is finished. What
// it has inherited, or has from an earlier run, goes.
func (r *run) openDir(at int, name string) (int, error) {
	fd, err := openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err == unix.EACCES {
		fd, err = openUnreadable(at, name)
	}
	if err != nil {
		return -1, &CopyError{"open directory", err}
	}
	if err := r.takeOver(fd); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// takeOver makes a directory one that only we may change.
func (r *run) takeOver(fd int) error {
	if r.root {
		if err := retry(func() error { return unix.Fchown(fd, 0, 0) }); err != nil && err != unix.EPERM {
			return &CopyError{"set owner", err}
		}
	}
	for _, acl := range []string{accessACL, defaultACL} {
		unix.Fremovexattr(fd, acl) // which most have not
	}
	if err := retry(func() error { return unix.Fchmod(fd, 0o700) }); err != nil {
		return &CopyError{"set mode", err}
	}
	return nil
}

// openUnreadable opens a directory of ours that we have made unreadable before.
func openUnreadable(at int, name string) (int, error) {
	place, err := openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(place)
	self := fdPath(place)
	if err := retry(func() error { return unix.Chmod(self, 0o700) }); err != nil {
		return -1, err
	}
	return openat(unix.AT_FDCWD, self, unix.O_RDONLY|unix.O_DIRECTORY, 0)
}

// leave says that an object in a directory is finished. After the last one the
// directory gets its metadata, unless the run was ended: then whoever goes on with it
// does that.
func (r *run) leave(d *directory) {
	for d != nil && d.left.Add(-1) == 0 {
		if d.inode != nil && r.ctx.Err() == nil {
			r.finish(d)
		}
		unix.Close(d.fd)
		if d.inode != nil && d.parent != nil {
			r.v.Release(d.inode, 1)
		}
		d = d.parent
	}
}

// finish gives a directory its metadata.
func (r *run) finish(d *directory) {
	r.lack(d.source, r.apply(made{fd: d.fd}, d.inode, d.attr)...)
	r.count.dirs.Add(1)
}

// checkName returns an error for a name that cannot be one of an object of ours. A
// volume gives none that leads elsewhere; here it would do harm.
func (r *run) checkName(d *directory, name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return errors.New("is no name for a file")
	}
	if d.parent == nil && name == r.staging.name {
		return errors.New("has the name of the folder for unfinished files")
	}
	return nil
}
