package fs

import (
	"io"
	iofs "io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"encfs/fs/store"
)

// IOFS returns the tree below a directory of the volume as an io/fs.FS, for
// reading: a path as of Walk. It follows no symbolic links, and has ReadLink and
// Lstat for them. As io/fs knows no other names, what has a name that is not
// UTF-8 is listed and cannot be opened. It is good until the volume is closed.
func (v *Volume) IOFS(dir string) iofs.ReadLinkFS { return &ioFS{v, dir} }

type ioFS struct {
	v   *Volume
	dir string
}

// walk finds an inode, which the caller releases.
func (f *ioFS) walk(op, name string) (*Inode, Attr, error) {
	if !iofs.ValidPath(name) {
		return nil, Attr{}, &iofs.PathError{Op: op, Path: name, Err: iofs.ErrInvalid}
	}
	i, a, err := f.v.Walk(path.Join(f.dir, name))
	if err != nil {
		return nil, a, ioError(op, name, err)
	}
	return i, a, nil
}

// ioError returns an error as io/fs has it, with the errno that it amounts to.
func ioError(op, name string, err error) error {
	return &iofs.PathError{Op: op, Path: name, Err: Errno(err)}
}

// Lstat implements io/fs.ReadLinkFS.
func (f *ioFS) Lstat(name string) (iofs.FileInfo, error) {
	i, a, err := f.walk("lstat", name)
	if err != nil {
		return nil, err
	}
	f.v.Release(i, 1)
	return &fileInfo{path.Base(name), a}, nil
}

// ReadLink implements io/fs.ReadLinkFS.
func (f *ioFS) ReadLink(name string) (string, error) {
	i, _, err := f.walk("readlink", name)
	if err != nil {
		return "", err
	}
	defer f.v.Release(i, 1)
	target, err := f.v.Readlink(i)
	if err != nil {
		return "", ioError("readlink", name, err)
	}
	return target, nil
}

// Open implements io/fs.FS.
func (f *ioFS) Open(name string) (iofs.File, error) {
	i, a, err := f.walk("open", name)
	if err != nil {
		return nil, err
	}
	file := &openFile{v: f.v, i: i, name: name, info: fileInfo{path.Base(name), a}}
	if i.typ != store.ModeDir {
		err = f.v.Open(i, false)
	} else if file.entries, err = f.v.ReadDir(i); err == nil {
		slices.SortFunc(file.entries, func(a, b DirEntry) int { return strings.Compare(a.Name, b.Name) })
	}
	if err != nil {
		f.v.Release(i, 1)
		return nil, ioError("open", name, err)
	}
	return file, nil
}

// An openFile is an open file or directory. It is not safe for concurrent use.
type openFile struct {
	v       *Volume
	i       *Inode
	name    string
	info    fileInfo
	off     int64
	entries []DirEntry // of a directory, those that have not been read
	closed  bool
}

var _ iofs.ReadDirFile = (*openFile)(nil)

func (f *openFile) Stat() (iofs.FileInfo, error) { return &f.info, nil }

func (f *openFile) closedError(op string) error {
	return &iofs.PathError{Op: op, Path: f.name, Err: iofs.ErrClosed}
}

func (f *openFile) Read(b []byte) (int, error) {
	if f.closed {
		return 0, f.closedError("read")
	}
	if len(b) == 0 {
		return 0, nil
	}
	n, err := f.v.ReadAt(f.i, b, f.off)
	f.off += int64(n)
	switch {
	case err != nil:
		return n, ioError("read", f.name, err)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

func (f *openFile) ReadDir(n int) ([]iofs.DirEntry, error) {
	if f.closed {
		return nil, f.closedError("readdir")
	}
	if f.i.typ != store.ModeDir {
		return nil, &iofs.PathError{Op: "readdir", Path: f.name, Err: iofs.ErrInvalid}
	}
	count := len(f.entries)
	if n > 0 {
		if count == 0 {
			return nil, io.EOF
		}
		count = min(count, n)
	}
	var list []iofs.DirEntry
	for _, e := range f.entries[:count] {
		i, a, err := f.v.LookupEntry(f.i, e)
		if err != nil {
			return list, ioError("readdir", path.Join(f.name, e.Name), err)
		}
		f.v.Release(i, 1)
		list = append(list, iofs.FileInfoToDirEntry(&fileInfo{e.Name, a}))
	}
	f.entries = f.entries[count:]
	return list, nil
}

func (f *openFile) Close() error {
	if f.closed {
		return f.closedError("close")
	}
	f.closed = true
	var err error
	if f.i.typ != store.ModeDir {
		err = f.v.CloseFile(f.i)
	}
	f.v.Release(f.i, 1)
	return err
}

// A fileInfo is attributes as io/fs has them.
type fileInfo struct {
	name string
	attr Attr
}

func (i *fileInfo) Name() string       { return i.name }
func (i *fileInfo) Size() int64        { return i.attr.Size }
func (i *fileInfo) ModTime() time.Time { return i.attr.Mtime }
func (i *fileInfo) IsDir() bool        { return i.Mode().IsDir() }

// Sys returns the *Attr.
func (i *fileInfo) Sys() any { return &i.attr }

func (i *fileInfo) Mode() iofs.FileMode {
	mode := iofs.FileMode(i.attr.Mode & 0o777)
	for _, special := range []struct {
		bit uint32
		to  iofs.FileMode
	}{{0o4000, iofs.ModeSetuid}, {0o2000, iofs.ModeSetgid}, {0o1000, iofs.ModeSticky}} {
		if i.attr.Mode&special.bit != 0 {
			mode |= special.to
		}
	}
	switch i.attr.Mode & store.ModeType {
	case store.ModeDir:
		mode |= iofs.ModeDir
	case store.ModeSymlink:
		mode |= iofs.ModeSymlink
	case store.ModeFIFO:
		mode |= iofs.ModeNamedPipe
	case store.ModeSocket:
		mode |= iofs.ModeSocket
	case store.ModeBlock:
		mode |= iofs.ModeDevice
	case store.ModeChar:
		mode |= iofs.ModeDevice | iofs.ModeCharDevice
	}
	return mode
}
