package fs

import (
	"sync"
	"syscall"

	"encfs/fs/store"
)

// writeUnits is how many data units one call of the store writes at most: a
// request of 1 MiB that begins and ends inside a unit takes 257.
const writeUnits = 257

// writeBuffers holds buffers in which data units are encrypted. They hold
// plaintext before, and are cleared before they go back.
var writeBuffers = sync.Pool{New: func() any { return new([writeUnits * unitSize]byte) }}

// smallBuffers is for what touches a unit or two.
var smallBuffers = sync.Pool{New: func() any { return new([2 * unitSize]byte) }}

// MaxSize is the largest size of a file, in bytes: what fits the lower file
// system's 63 bits with the header.
const MaxSize = 1<<63 - 1 - 3*unitSize

// WriteAt writes data at off of a file opened for writing and returns the number
// of bytes written: fewer than given only if an error stopped it after some,
// which then is not returned. data is not kept.
func (v *Volume) WriteAt(i *Inode, data []byte, off int64) (int, error) {
	if off < 0 || off > MaxSize-int64(len(data)) {
		return 0, syscall.EFBIG
	}
	if len(data) == 0 {
		return 0, nil
	}
	n := 0
	err := v.update(i, func(w *change) (err error) {
		n, err = w.write(data, off)
		return err
	})
	return n, err
}

// A change is a change of a file's contents under way, with the inode locked.
type change struct {
	v *Volume
	i *Inode
	f store.FileWriter
}

// update calls f to change the contents of a file opened for writing.
func (v *Volume) update(i *Inode, f func(w *change) error) error {
	defer v.trimFiles()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.writer == nil {
		if err := v.onDemand(i, true); err != nil {
			return err
		}
	}
	i.used.Store(true)
	if err := v.reload(i); err != nil {
		return err
	}
	return f(&change{v, i, i.writer})
}

// begin gives a file that has none yet a context and a key.
func (w *change) begin() error {
	if w.f.Layout() != store.LayoutEmpty {
		return nil
	}
	// That of the root: which of its directories a file inherits from cannot be
	// told any more, and a tree has one policy unless somebody puts parts of two
	// together.
	raw := newContext(w.v.policy)
	if err := w.v.setContents(w.i, raw); err != nil {
		return err
	}
	w.f.SetContext(raw)
	return nil
}

func (w *change) write(data []byte, off int64) (int, error) {
	if err := w.begin(); err != nil {
		return 0, err
	}
	size := w.f.Size()
	end := off + int64(len(data))
	if newSize := max(size, end); w.fitsInline(newSize) {
		if err := w.inline(newSize, func(p []byte) { copy(p[off:], data) }); err != nil {
			return 0, err
		}
		return len(data), nil
	}
	if err := w.prepare(off); err != nil {
		return 0, err
	}
	if end > size {
		if err := w.order(); err != nil {
			return 0, err
		}
	}
	if len(data) <= unitSize {
		buf := smallBuffers.Get().(*[2 * unitSize]byte)
		defer putBuffer(&smallBuffers, buf, buf[:])
		return w.blocks(buf[:], data, off)
	}
	buf := writeBuffers.Get().(*[writeUnits * unitSize]byte)
	defer putBuffer(&writeBuffers, buf, buf[:min(len(buf), len(data)+2*unitSize)])
	return w.blocks(buf[:], data, off)
}

// fitsInline reports whether a file that gets a size, no smaller than it has, is
// or stays inline. One whose only data unit would become longer does not: a lower
// file system may bring the new size to storage long before what is written over
// old data, and the old ciphertext, decrypted as a longer unit, is garbage. A new
// block, as the blocks layout takes it, is there before the size is.
func (w *change) fitsInline(size int64) bool {
	switch w.f.Layout() {
	case store.LayoutEmpty:
		return size <= w.f.InlineMax()
	case store.LayoutInline:
		return size <= w.f.InlineMax() && (size+15)/16 == (w.f.Size()+15)/16
	}
	return false
}

// putBuffer clears the used part of a pooled buffer and gives it back.
func putBuffer(pool *sync.Pool, buf any, used []byte) {
	clear(used)
	pool.Put(buf)
}

// prepare makes a file that is in blocks, or will be, ready for a write at off:
// what lies between its end and off becomes zeros.
func (w *change) prepare(off int64) error {
	size := w.f.Size()
	switch {
	case w.f.Layout() == store.LayoutInline && off >= unitSize:
		return w.unit(0, size, func(p []byte) {})
	case w.f.Layout() == store.LayoutBlocks && off > size && off/unitSize > size/unitSize:
		return w.zeroTail()
	}
	return nil
}

// blocks writes data at off in whole data units, as many at once as fit buf.
func (w *change) blocks(buf, data []byte, off int64) (int, error) {
	for done := 0; done < len(data); {
		at := off + int64(done)
		first, skip := at/unitSize, int(at%unitSize)
		n := min(len(data)-done, len(buf)-skip)
		units := (skip + n + unitSize - 1) / unitSize
		p := buf[:units*unitSize]
		if err := w.fill(p, first, skip, skip+n); err != nil {
			return partial(done, err)
		}
		copy(p[skip:], data[done:done+n])
		size := max(w.f.Size(), at+int64(n))
		if err := w.encrypt(p, first); err != nil {
			return partial(done, err)
		}
		wrote, err := w.f.WriteUnits(p, uint64(first), size)
		if err != nil {
			// The file may have grown by less than the data units that were
			// written, or not at all.
			done += int(max(0, min(int64(n), int64(wrote*unitSize-skip), w.f.Size()-at)))
			return partial(done, err)
		}
		done += n
	}
	return len(data), nil
}

// partial is the result of a write that failed after done bytes.
func partial(done int, err error) (int, error) {
	if done > 0 {
		return done, nil
	}
	return 0, err
}

// fill prepares the plaintext of the data units from first on in p, of which
// the bytes from begin to end will be written: the rest of the first and of the
// last unit keeps what it is.
func (w *change) fill(p []byte, first int64, begin, end int) error {
	if begin > 0 {
		if err := w.readUnit(p[:unitSize], first); err != nil {
			return err
		}
	}
	last := len(p) - unitSize
	if end == len(p) || begin > 0 && last == 0 {
		return nil
	}
	return w.readUnit(p[last:], first+int64(last/unitSize))
}

// readUnit reads the plaintext of a data unit into p, zeros past the end of the
// file.
func (w *change) readUnit(p []byte, unit int64) error {
	valid := w.f.Size() - unit*unitSize
	if valid <= 0 {
		clear(p)
		return nil
	}
	var holes [1]bool
	n, err := w.f.ReadUnits(p, uint64(unit), holes[:])
	if err != nil {
		return err
	}
	if holes[0] {
		clear(p)
		return nil
	}
	w.i.contents.DecryptUnits(p[:n], p[:n], uint64(unit))
	if valid < int64(len(p)) {
		clear(p[valid:])
	}
	return nil
}

// unit changes the plaintext of one data unit and writes it whole; size is as
// for WriteUnits.
func (w *change) unit(unit, size int64, edit func(p []byte)) error {
	buf := smallBuffers.Get().(*[2 * unitSize]byte)
	defer putBuffer(&smallBuffers, buf, buf[:])
	p := buf[:unitSize]
	if err := w.readUnit(p, unit); err != nil {
		return err
	}
	edit(p)
	w.i.contents.EncryptUnits(p, p, uint64(unit))
	_, err := w.f.WriteUnits(p, uint64(unit), size)
	return err
}

// inline rewrites a file that is empty or inline as one data unit of size bytes,
// which are not fewer than before, after edit has changed its plaintext.
func (w *change) inline(size int64, edit func(p []byte)) error {
	buf := smallBuffers.Get().(*[2 * unitSize]byte)
	defer putBuffer(&smallBuffers, buf, buf[:])
	if err := w.readUnit(buf[:unitSize], 0); err != nil {
		return err
	}
	edit(buf[:size])
	return w.writeInline(buf[:], size)
}

// writeInline encrypts the first size bytes of p, zeros up to the next multiple
// of 16, and makes them the contents of the file. p is longer than that.
func (w *change) writeInline(p []byte, size int64) error {
	ct := p[:(size+15)&^15]
	clear(ct[size:])
	w.i.contents.EncryptUnits(ct, ct, 0)
	return w.f.WriteInline(ct, size)
}

// zeroTail makes the plaintext of the last data unit past the end of the file
// zeros, as it is unless a crash came between the two steps of shrinking.
func (w *change) zeroTail() error {
	size := w.f.Size()
	rest := size % unitSize
	if rest == 0 {
		return nil
	}
	buf := smallBuffers.Get().(*[2 * unitSize]byte)
	defer putBuffer(&smallBuffers, buf, buf[:])
	p := buf[:unitSize]
	unit := size / unitSize
	var holes [1]bool
	n, err := w.f.ReadUnits(p, uint64(unit), holes[:])
	if err != nil || holes[0] {
		return err
	}
	w.i.contents.DecryptUnits(p[:n], p[:n], uint64(unit))
	if isZero(p[rest:n]) {
		return nil
	}
	clear(p[rest:])
	w.i.contents.EncryptUnits(p, p, uint64(unit))
	if _, err = w.f.WriteUnits(p, uint64(unit), size); err == nil {
		w.i.cut = true
	}
	return err
}

// order goes before a change that makes a file larger. What zeroTail has written
// overwrites old data, which a lower file system may bring to storage long after
// the new size: what was cut off would be back after a crash.
func (w *change) order() error {
	if !w.i.cut {
		return nil
	}
	err := w.f.Sync(true)
	w.i.cut = err != nil
	return err
}

func isZero(p []byte) bool {
	for _, b := range p {
		if b != 0 {
			return false
		}
	}
	return true
}
