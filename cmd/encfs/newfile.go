package main

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// A newFile is a file that is written at once: under its name there is all of it or what
// was there before, whatever happens.
type newFile struct {
	path    string
	private bool // for its owner alone; otherwise the umask says who may read it
}

// errNotReplaceable means that something has the name of a file that is to be written
// and must stay.
var errNotReplaceable = errors.New("not a file to replace")

// prepareFile checks that a file can be written. A regular file that has its name already
// is replaced if replaceable, which may be nil for always, says so of what is in it;
// anything else is an errNotReplaceable. Of a symbolic link the file that it leads to is
// written.
func prepareFile(name string, replaceable func(io.Reader) bool) (newFile, error) {
	f := newFile{path: name}
	info, err := os.Lstat(name)
	if err == nil && info.Mode().Type() == iofs.ModeSymlink {
		if f.path, err = filepath.EvalSymlinks(name); err != nil {
			return f, bareError(err)
		}
		info, err = os.Lstat(f.path)
	}
	switch {
	case errors.Is(err, iofs.ErrNotExist):
	case err != nil:
		return f, bareError(err)
	case info.IsDir():
		return f, fmt.Errorf("is a directory: %w", errNotReplaceable)
	case !info.Mode().IsRegular():
		return f, fmt.Errorf("is no regular file: %w", errNotReplaceable)
	case replaceable != nil:
		if err := f.checkOld(replaceable); err != nil {
			return f, err
		}
	}
	temporary, err := f.create()
	if err != nil {
		return f, bareError(err)
	}
	return f, bareError(errors.Join(temporary.Close(), os.Remove(temporary.Name())))
}

// checkOld checks whether the file that is there may be replaced.
func (f newFile) checkOld(replaceable func(io.Reader) bool) error {
	old, err := os.Open(f.path)
	if err != nil {
		return bareError(err)
	}
	defer old.Close()
	if !replaceable(old) {
		return fmt.Errorf("holds something else: %w", errNotReplaceable)
	}
	return nil
}

// create creates a temporary file beside the file.
func (f newFile) create() (*os.File, error) {
	name := fmt.Sprintf(".encfs-%016x.tmp", rand.Uint64())
	mode := iofs.FileMode(0o666)
	if f.private {
		mode = 0o600
	}
	return os.OpenFile(filepath.Join(filepath.Dir(f.path), name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
}

// write writes the file with what content writes, and returns when that is on the disk.
// After an error nothing has changed.
func (f newFile) write(content func(io.Writer) error) (err error) {
	temporary, err := f.create()
	if err != nil {
		return bareError(err)
	}
	defer func() {
		if err != nil {
			temporary.Close() // again, perhaps
			os.Remove(temporary.Name())
			err = bareError(err)
		}
	}()
	if err := content(temporary); err != nil {
		return err
	}
	if err := errors.Join(temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	if err := os.Rename(temporary.Name(), f.path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(f.path))
	if err != nil {
		return nil // the file is there; whether its name is on the disk, nobody can say
	}
	defer dir.Close()
	dir.Sync()
	return nil
}

// bareError leaves out of an error of a file which file it was about: the temporary one,
// which nobody knows.
func bareError(err error) error {
	if e, ok := errors.AsType[*iofs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}
