package extract

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// openDest opens the directory of the destination and makes the staging folder in it.
// The directory is the copy of the only root if that is one; otherwise the copies of
// the roots go into it, whose names it may change.
func (r *run) openDest(roots []root) (*directory, error) {
	top, err := r.openTop(roots)
	if err == nil {
		name := stagingName
		if len(roots) == 1 && !roots[0].isDir() {
			// There may be other extractions to the same directory.
			sum := sha256.Sum256([]byte(roots[0].name))
			name += "-" + hex.EncodeToString(sum[:8])
		}
		if r.staging, err = r.openStaging(top.fd, name); err != nil {
			unix.Close(top.fd)
		}
	}
	if _, ok := errors.AsType[*DestinationError](err); err != nil && !ok {
		err = &DestinationError{r.dest, err}
	}
	if err != nil {
		return nil, err
	}
	return top, nil
}

func (r *run) openTop(roots []root) (*directory, error) {
	only := &roots[0]
	if len(roots) == 1 && !only.isDir() {
		return r.openParent(only)
	}
	mode := uint32(0o777)
	if len(roots) == 1 {
		mode = 0o700
	}
	err := retry(func() error { return unix.Mkdir(r.dest, mode) })
	if err != nil && err != unix.EEXIST {
		return nil, err
	}
	fd, err := openat(unix.AT_FDCWD, r.dest, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err == unix.EACCES && r.o.Resume {
		fd, err = openUnreadable(unix.AT_FDCWD, r.dest)
	}
	if err != nil {
		return nil, err
	}
	top := newDirectory(nil, source{}, fd, nil, only.attr)
	if err = r.checkEmpty(fd); err == nil && len(roots) == 1 {
		top.source, top.inode = source{name: only.path}, only.inode
		err = r.takeOver(fd)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return top, nil
}

// openParent opens the directory in which the copy of a root that is no directory is
// made, and gives the root the name that the copy has.
func (r *run) openParent(only *root) (*directory, error) {
	dest := filepath.Join(r.dest, only.name)
	fd, err := openat(unix.AT_FDCWD, r.dest, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err == unix.ENOENT || err == unix.ENOTDIR {
		dest, only.name = r.dest, filepath.Base(r.dest)
		fd, err = openat(unix.AT_FDCWD, filepath.Dir(r.dest), unix.O_RDONLY|unix.O_DIRECTORY, 0)
	}
	if err != nil {
		return nil, err
	}
	if err := lstatat(fd, only.name, new(unix.Stat_t)); err == nil && !r.o.Resume {
		unix.Close(fd)
		return nil, &DestinationError{dest, unix.EEXIST}
	}
	return newDirectory(nil, source{}, fd, nil, only.attr), nil
}

// checkEmpty returns ErrNotEmpty for a directory with something in it, unless the run
// goes on with another.
func (r *run) checkEmpty(fd int) error {
	if r.o.Resume {
		return nil
	}
	names, err := readNames(fd)
	if err == nil && len(names) > 0 {
		err = ErrNotEmpty
	}
	return err
}
