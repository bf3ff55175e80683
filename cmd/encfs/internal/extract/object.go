package extract

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"encfs/fs"
	"encfs/fs/store"
)

// object copies an object that is no directory, which is at s in the source, into
// d. The caller has a reference to the inode.
func (r *run) object(w *worker, d *directory, name string, s source, i *fs.Inode, a fs.Attr) {
	if r.ctx.Err() != nil {
		return
	}
	err := r.checkName(d, name)
	if err == nil {
		err = r.copyObject(w, d, name, s, i, a)
	}
	if err != nil {
		r.fail(s, err)
	}
}

// copyObject is object, and returns why there is no copy.
func (r *run) copyObject(w *worker, d *directory, name string, s source, i *fs.Inode, a fs.Attr) error {
	if a.Nlink > 1 {
		l, first := r.links.claim(a)
		if first {
			defer close(l.ready)
			var err error
			l.name, err = r.make(w, d, name, s, i, a, true)
			if _, ours := errors.AsType[*CopyError](err); !ours {
				l.err = err // which every name would meet
			}
			return err
		}
		w.await(l.ready)
		if done, err := r.linkTo(l, d, name); done || err != nil {
			return err
		}
		r.count.unlinked.Add(1)
	}
	_, err := r.make(w, d, name, s, i, a, false)
	return err
}

// make copies an object into d, or finds that the copy is there. With link set it
// returns another name of it in the staging folder, "" if there are no links.
func (r *run) make(w *worker, d *directory, name string, s source, i *fs.Inode, a fs.Attr, link bool) (linked string, err error) {
	if r.o.Resume {
		if r.isComplete(d, name, i, a) {
			r.count.kept.Add(1)
			r.o.Progress(1, dataSize(a))
			if link {
				linked = r.staging.link(d.fd, name)
			}
			return linked, nil
		}
	}
	temp := r.staging.newName()
	made, lacks, err := r.create(w, temp, i, a)
	if err == nil {
		if len(lacks) > 0 {
			// So that a run which goes on with this one does not take it for complete.
			a.Mtime = a.Mtime.Add(time.Nanosecond)
		}
		lacks = append(lacks, r.apply(made, i, a)...)
		if made.fd >= 0 {
			if e := unix.Close(made.fd); e != nil && e != unix.EINTR {
				err = &CopyError{"close", e}
			}
		}
	}
	if err == nil && link {
		linked = r.staging.link(r.staging.fd, temp)
	}
	if err == nil {
		err = r.place(temp, d, name)
	}
	if err != nil {
		unix.Unlinkat(r.staging.fd, temp, 0)
		return linked, err
	}
	r.counted(a, made.bytes)
	r.lack(s, lacks...)
	return linked, nil
}

// counted counts an object that was made, with so many bytes of data.
func (r *run) counted(a fs.Attr, bytes int64) {
	r.count.bytes.Add(bytes)
	switch a.Mode & store.ModeType {
	case store.ModeRegular:
		r.count.files.Add(1)
	case store.ModeSymlink:
		r.count.symlinks.Add(1)
	default:
		r.count.special.Add(1)
	}
	r.o.Progress(1, 0)
}

// create makes an object with its contents in the staging folder. What is missing of
// a salvaged file is in lacks.
func (r *run) create(w *worker, temp string, i *fs.Inode, a fs.Attr) (m made, lacks []error, err error) {
	m = made{fd: -1, dir: r.staging.fd, name: temp}
	switch a.Mode & store.ModeType {
	case store.ModeRegular:
		return r.createFile(w, temp, i)
	case store.ModeSymlink:
		if err := r.v.CheckKey(i); err != nil {
			return m, nil, err
		}
		target, err := r.v.Readlink(i)
		if err != nil {
			return m, nil, err
		}
		return m, nil, creating(func() error { return unix.Symlinkat(target, r.staging.fd, temp) })
	case store.ModeFIFO, store.ModeSocket, store.ModeChar, store.ModeBlock:
		mode := a.Mode&store.ModeType | 0o600
		return m, nil, creating(func() error { return unix.Mknodat(r.staging.fd, temp, mode, int(a.Rdev)) })
	}
	return m, nil, fmt.Errorf("has the unknown type %#o", a.Mode&store.ModeType)
}

func creating(f func() error) error {
	if err := retry(f); err != nil {
		return &CopyError{"create", err}
	}
	return nil
}

// place gives a finished object its name. Only a run that goes on with another
// replaces what is there.
func (r *run) place(temp string, d *directory, name string) error {
	flags := uint(unix.RENAME_NOREPLACE)
	if r.o.Resume {
		flags = 0
	}
	err := retry(func() error { return unix.Renameat2(r.staging.fd, temp, d.fd, name, flags) })
	if err == unix.EINVAL && flags != 0 { // the file system does not know the flag
		if err = unix.Fstatat(d.fd, name, new(unix.Stat_t), unix.AT_SYMLINK_NOFOLLOW); err == nil {
			err = unix.EEXIST
		} else if err == unix.ENOENT {
			err = retry(func() error { return unix.Renameat(r.staging.fd, temp, d.fd, name) })
		}
	}
	if err != nil {
		return &CopyError{"rename", err}
	}
	return nil
}

// dataSize returns how many bytes of data a file has, about.
func dataSize(a fs.Attr) int64 {
	if a.Mode&store.ModeType != store.ModeRegular {
		return 0
	}
	return min(a.Size, a.Blocks*512)
}
