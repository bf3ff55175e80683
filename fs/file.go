package fs

import (
	"crypto/rand"
	"fmt"
	"io"
	"syscall"

	"encfs/fs/store"
	"encfs/keys"
)

// unitSize is the data unit size of a tree with one policy, in bytes, and
// unitShift its binary logarithm.
const (
	unitShift = 12
	unitSize  = 1 << unitShift
)

// Open opens a regular file for ReadAt and, with write set, for WriteAt,
// Truncate and the like. All openings of an inode share one file of the store.
// Each Open needs its CloseFile.
func (v *Volume) Open(i *Inode, write bool) error {
	if err := v.isFile(i, write); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return v.open(i, write)
}

// isFile checks that an inode is a regular file that may be opened.
func (v *Volume) isFile(i *Inode, write bool) error {
	switch {
	case i.typ == store.ModeDir:
		return syscall.EISDIR
	case i.typ != store.ModeRegular:
		return syscall.EINVAL
	case write && v.writer == nil:
		return syscall.EROFS
	}
	return nil
}

// open is Open with i.mu held.
func (v *Volume) open(i *Inode, write bool) error {
	if err := v.openFile(i, write); err != nil {
		return err
	}
	i.opens++
	return nil
}

// openFile opens the file of an inode in the store unless it is open as wanted.
// i.mu is held.
func (v *Volume) openFile(i *Inode, write bool) error {
	if i.file != nil && (!write || i.writer != nil) {
		return nil
	}
	f, size, err := v.openStored(i.node, write)
	if err != nil {
		return v.report(err)
	}
	i.unitSize = size
	if err := v.setFile(i, f, write); err != nil {
		f.Close()
		return err
	}
	return nil
}

// created makes f, which Create of the store returned, the open file of its
// inode.
func (v *Volume) created(i *Inode, f store.FileWriter) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.file != nil { // somebody found and opened it already
		f.Close()
		return v.open(i, true)
	}
	// Or opened it, wrote to it and closed it, of which f knows nothing.
	i.unitSize = unitSize
	err := f.Reload()
	if err == nil {
		err = v.setFile(i, f, true)
	}
	if err != nil {
		f.Close()
		return v.report(err)
	}
	i.opens++
	return nil
}

// setFile makes f the open file of an inode, with the cipher for its contents,
// in place of the one that it had. i.mu is held.
func (v *Volume) setFile(i *Inode, f store.File, write bool) error {
	if err := v.setContents(i, f.Context()); err != nil {
		return err
	}
	if i.file != nil {
		i.file.Close()
	}
	i.file, i.writer = f, nil
	if write {
		i.writer = f.(store.FileWriter)
	}
	return nil
}

// setContents makes i.contents the cipher for a stored context, unless it is
// already. i.mu is held.
func (v *Volume) setContents(i *Inode, context []byte) error {
	if context == nil {
		i.contents, i.context = nil, ""
		return nil
	}
	if i.contents != nil && i.context == string(context) {
		return nil
	}
	c, d, err := v.newContents(i.node, context)
	if err != nil {
		return v.report(err)
	}
	i.contents, i.context = c, string(context)
	if v.auto() {
		i.unitTime = v.speeds.of(d, c)
	}
	return nil
}

// CloseFile ends one Open of an inode.
func (v *Volume) CloseFile(i *Inode) error {
	defer v.trimFiles()
	i.mu.Lock()
	defer i.mu.Unlock()
	return v.close(i)
}

// close is CloseFile with i.mu held.
func (v *Volume) close(i *Inode) error {
	if i.opens == 0 {
		return nil // closed for good already
	}
	i.opens--
	if i.opens > 0 {
		return nil
	}
	if v.files.limit > 0 {
		v.files.keep(i)
		return nil
	}
	f := i.file
	i.file, i.writer = nil, nil
	return f.Close()
}

// reload brings what is remembered of a file up to date where others may have
// changed it. i.mu is held for writing.
func (v *Volume) reload(i *Inode) error {
	if !v.opts.Shared {
		return nil
	}
	if err := i.file.Reload(); err != nil {
		return v.report(err)
	}
	return v.setContents(i, i.file.Context())
}

// newContext returns a context with a new nonce.
func newContext(p keys.Policy) []byte {
	c := keys.Context{Policy: p}
	rand.Read(c.Nonce[:])
	return c.Marshal()
}

// Sync returns when the contents of an open file are on stable storage; with
// dataOnly, times and the like need not be. As fsync(2) does, it covers what
// anybody has written, even if the file is open for reading only.
func (v *Volume) Sync(i *Inode, dataOnly bool) error {
	if v.writer == nil {
		return nil
	}
	i.mu.RLock()
	if i.writer == nil {
		i.mu.RUnlock()
		if err := v.Open(i, true); err != nil {
			return err
		}
		defer v.CloseFile(i)
		i.mu.RLock()
	}
	defer i.mu.RUnlock()
	return v.report(i.writer.Sync(dataOnly))
}

// Flush hands what has been written to a file on to the machine that has it, as
// closing the file does, and returns the errors that only that says. It is for
// stores that are Remote; for others, and for a file that nobody writes to, it does
// nothing.
func (v *Volume) Flush(i *Inode) error {
	i.mu.RLock()
	defer i.mu.RUnlock()
	f, ok := i.writer.(store.Flusher)
	if !ok {
		return nil
	}
	return v.report(f.Flush())
}

// Seek finds the next data or hole in an open file, as lseek(2) does.
func (v *Volume) Seek(i *Inode, off int64, whence int) (int64, error) {
	if v.opts.Shared {
		if err := v.refresh(i); err != nil {
			return 0, err
		}
	}
	if err := v.rlockOpen(i); err != nil {
		return 0, err
	}
	defer i.mu.RUnlock()
	off, err := i.file.Seek(off, whence)
	return off, v.report(err)
}

// UnitSize returns the size in bytes of the data units of an open file, of which
// each can be read or not on its own; 0 if it is not open.
func (v *Volume) UnitSize(i *Inode) int {
	i.mu.RLock()
	defer i.mu.RUnlock()
	if i.file == nil {
		return 0
	}
	return i.unitSize
}

// ReadFile writes the whole contents of a file to w, in order.
func (v *Volume) ReadFile(i *Inode, w io.Writer) error {
	if err := v.Open(i, false); err != nil {
		return err
	}
	defer v.CloseFile(i)
	buf := make([]byte, 256*unitSize)
	for off := int64(0); ; {
		n, err := v.ReadAt(i, buf, off)
		if err != nil {
			return fmt.Errorf("fs: read at %d: %w", off, err)
		}
		if n == 0 {
			return nil
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return err
		}
		off += int64(n)
	}
}
