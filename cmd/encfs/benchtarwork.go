package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"

	"encfs/cmd/encfs/internal/bench"
	"encfs/cpufeat"
	"encfs/decrypt"
	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/keys"
)

// A tarWork is what bench tar has on disk, all of it in one temporary directory.
type tarWork struct {
	dir   string
	point string // of mounts
	log   string // of their servers
	tree  string // the plain tree
	files []bench.TreeFile
}

// newTarWork makes the tree, or looks at the one that was named, and an encrypted one
// for each cipher. The caller removes it. It leaves nothing if it fails.
func newTarWork(ctx context.Context, r tarRequest, plan *tarPlan) (*tarWork, error) {
	w := new(tarWork)
	if r.tree != "" {
		var err error
		if w.tree, err = filepath.Abs(r.tree); err != nil {
			return nil, err
		}
		if w.files, err = listTree(w.tree); err != nil {
			return nil, err
		}
		if err := checkParts(r.tree, len(w.files), plan.maxJobs()); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp(r.temp, "encfs-bench-")
	if err != nil {
		return nil, fmt.Errorf("cannot make a temporary directory: %w", err)
	}
	w.dir = dir
	if err := w.fill(ctx, int64(r.size)<<10, plan); err != nil {
		return nil, errors.Join(w.spaceError(err), w.remove())
	}
	return w, nil
}

// fill makes what is in the directory.
func (w *tarWork) fill(ctx context.Context, size int64, plan *tarPlan) (err error) {
	if w.dir, err = resolve(w.dir); err != nil { // as the kernel names mount points
		return err
	}
	w.point, w.log = filepath.Join(w.dir, "mnt"), filepath.Join(w.dir, "log")
	if err := os.Mkdir(w.point, 0o700); err != nil {
		return err
	}
	copies := int64(len(plan.ciphers()))
	if w.tree != "" {
		size = bench.TreeSize(w.files)
	} else {
		copies++
	}
	if err := checkSpace(w.dir, copies, size); err != nil {
		return err
	}
	if w.tree == "" {
		w.tree = filepath.Join(w.dir, "tree")
		if err := bench.GenerateTree(ctx, w.tree, size); err != nil {
			return err
		}
		if w.files, err = listTree(w.tree); err != nil {
			return err
		}
		if err := checkParts("that is generated", len(w.files), plan.maxJobs()); err != nil {
			return err
		}
	}
	for _, c := range plan.ciphers() {
		if err := w.encrypt(ctx, c); err != nil {
			return err
		}
	}
	return w.sync()
}

// listTree returns the files of a tree.
func listTree(dir string) ([]bench.TreeFile, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = unix.ENOTDIR
	}
	if err != nil {
		return nil, failf(exitFailure, "name a directory with files in it", "cannot read the tree: %w", pathError(dir, plainErrno(err)))
	}
	files, err := bench.ListTree(dir)
	if err != nil {
		return nil, failf(exitFailure, "", "cannot read the tree in %s: %w", dir, err)
	}
	return files, nil
}

// checkParts checks that there is a file for each tar.
func checkParts(tree string, files, jobs int) error {
	if files >= jobs {
		return nil
	}
	return failf(exitFailure, "choose a larger tree or fewer --jobs", "the tree %s has %d files with contents, and %d tars cannot divide them", tree, files, jobs)
}

// checkSpace checks that copies of a tree fit a file system.
func checkSpace(dir string, copies, size int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return pathError(dir, err)
	}
	if free := int64(st.Bavail) * st.Bsize; size > free/copies {
		return failf(exitFailure, spaceHint, "%d copies of a tree of %s do not fit the %s that are free in %s",
			copies, byteCount(size), byteCount(free), filepath.Dir(dir))
	}
	return nil
}

const spaceHint = "choose another --temp or a smaller tree"

// spaceError says what to do about a full disk.
func (w *tarWork) spaceError(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return failf(exitFailure, spaceHint, "no space is left in %s", filepath.Dir(w.dir))
	}
	return err
}

// cipherDir returns the path of the tree that is encrypted with a cipher.
func (w *tarWork) cipherDir(c tarCipher) string { return filepath.Join(w.dir, c.name) }

// encrypt makes the tree that is encrypted with a cipher.
func (w *tarWork) encrypt(ctx context.Context, c tarCipher) error {
	dir := w.cipherDir(c)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	mk, err := fs.MeasurementKey()
	if err != nil {
		return err
	}
	policy := keys.Policy{
		Version: 2, Contents: c.contents, Filenames: c.filenames, Flags: keys.FlagPad32,
		Log2DataUnitSize: 12, Identifier: mk.Identifier(),
	}
	kctx := keys.Context{Policy: policy}
	rand.Read(kctx.Nonce[:])
	if err := dirstore.Create(dir, kctx.Marshal(), fs.NewHeaderAuthenticator(mk)); err != nil {
		mk.Close()
		return err
	}
	drivers, err := decrypt.NewTable(cpufeat.Host(), decrypt.SelfTestLazy, nil)
	if err != nil {
		mk.Close()
		return err
	}
	measure, err := (&measureOrder{Algorithm: c.instead}).measurement(drivers)
	if err != nil {
		mk.Close()
		return err
	}
	v, err := openVolume(dir, mk, mustLock, fs.Options{Drivers: drivers, Measure: measure})
	if err != nil {
		return err
	}
	t := treeCopy{ctx: ctx, v: v, from: w.tree, dirs: map[string]*fs.Inode{".": v.Root()}, buf: make([]byte, 1<<20)}
	defer v.Close()
	defer t.release()
	for _, f := range w.files {
		if err := t.file(f.Path); err != nil {
			return pathError(filepath.Join(w.tree, f.Path), plainErrno(err))
		}
	}
	return nil
}

// plainErrno returns the errno of an error that a path is put before, rather than the
// path again.
func plainErrno(err error) error {
	if errno, ok := errors.AsType[unix.Errno](err); ok {
		return errno
	}
	return err
}

// A treeCopy copies files into a volume.
type treeCopy struct {
	ctx  context.Context
	v    *fs.Volume
	from string
	dirs map[string]*fs.Inode // by path
	buf  []byte
}

// file copies a file, and makes the directories that it is in.
func (t *treeCopy) file(name string) error {
	in, err := os.Open(filepath.Join(t.from, name))
	if err != nil {
		return err
	}
	defer in.Close()
	dir, err := t.dir(path.Dir(name))
	if err != nil {
		return err
	}
	out, _, err := t.v.Create(dir, path.Base(name), 0o600, fs.AnyOwner)
	if err != nil {
		return err
	}
	defer t.v.Release(out, 1)
	defer t.v.CloseFile(out)
	for off := int64(0); ; {
		if err := t.ctx.Err(); err != nil {
			return err
		}
		n, err := io.ReadFull(in, t.buf)
		for done := 0; done < n; {
			k, err := t.v.WriteAt(out, t.buf[done:n], off)
			if err != nil {
				return err
			}
			done, off = done+k, off+int64(k)
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// dir returns the directory at a path, which it makes if it is not there.
func (t *treeCopy) dir(name string) (*fs.Inode, error) {
	if i := t.dirs[name]; i != nil {
		return i, nil
	}
	parent, err := t.dir(path.Dir(name))
	if err != nil {
		return nil, err
	}
	i, _, err := t.v.Mkdir(parent, path.Base(name), 0o700, fs.AnyOwner)
	if err == nil {
		t.dirs[name] = i
	}
	return i, err
}

// release gives back what the copy has of the volume.
func (t *treeCopy) release() {
	for _, i := range t.dirs {
		t.v.Release(i, 1) // the root needs none, and does not mind
	}
}

// sync brings the trees to the disk, so that it has nothing to do while they are read.
func (w *tarWork) sync() error {
	d, err := os.Open(w.dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return pathError(w.dir, unix.Syncfs(int(d.Fd())))
}

// remove removes everything.
func (w *tarWork) remove() error {
	// A mount that is there still must not be looked into.
	if w.point != "" {
		if err := os.Remove(w.point); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return os.RemoveAll(w.dir)
}
