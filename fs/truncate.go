package fs

import (
	"syscall"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// Truncate sets the size of a file, open or not.
func (v *Volume) Truncate(i *Inode, size int64) error {
	if err := v.isFile(i, true); err != nil {
		return err
	}
	if size < 0 {
		return syscall.EINVAL
	}
	if size > MaxSize {
		return syscall.EFBIG
	}
	if err := v.Open(i, true); err != nil {
		return err
	}
	defer v.CloseFile(i)
	return v.update(i, func(w *change) error { return w.truncate(size) })
}

// truncate sets the size. As ftruncate(2) does, it changes the times of a file
// whose size stays.
func (w *change) truncate(size int64) error {
	if size == 0 {
		if err := w.f.Truncate(0); err != nil {
			return err
		}
		w.i.cut = false // there is nothing behind the end any more
		return w.v.setContents(w.i, nil)
	}
	old, layout := w.f.Size(), w.f.Layout()
	if err := w.begin(); err != nil {
		return err
	}
	small := size <= w.f.InlineMax()
	switch {
	case size >= old && w.fitsInline(size):
		return w.inline(size, func([]byte) {})
	case small && size < old:
		return w.shrinkInline(size)
	case size < old:
		// Cut first: from then on the file reads as it should, whether or not
		// the rest of its last unit becomes zeros again. That is seen to once
		// more before it would come to lie inside the file, so failing now is
		// not the failure of a truncation that has happened.
		if err := w.f.Truncate(size); err != nil {
			return err
		}
		w.zeroTail()
		return nil
	case layout == store.LayoutInline:
		if err := w.unit(0, old, func([]byte) {}); err != nil {
			return err
		}
	case layout == store.LayoutBlocks:
		if err := w.zeroTail(); err != nil {
			return err
		}
	}
	if err := w.order(); err != nil {
		return err
	}
	return w.f.Truncate(size)
}

// shrinkInline makes a file smaller so that it is inline afterwards. A file that
// is inline already goes through the blocks layout: its one unit is another
// ciphertext from end to end when it is shorter, and no single step both
// rewrites it and cuts the file.
func (w *change) shrinkInline(size int64) error {
	buf := smallBuffers.Get().(*[2 * unitSize]byte)
	defer putBuffer(&smallBuffers, buf, buf[:])
	if w.f.Layout() == store.LayoutInline {
		if err := w.unit(0, w.f.Size(), func([]byte) {}); err != nil {
			return err
		}
	}
	if err := w.readUnit(buf[:unitSize], 0); err != nil {
		return err
	}
	return w.writeInline(buf[:unitSize], size)
}

// Allocate does what fallocate(2) does with these modes: 0, KEEP_SIZE,
// PUNCH_HOLE with KEEP_SIZE, ZERO_RANGE with and without KEEP_SIZE.
func (v *Volume) Allocate(i *Inode, mode uint32, off, length int64) error {
	if off < 0 || length <= 0 {
		return syscall.EINVAL
	}
	if off > MaxSize-length {
		return syscall.EFBIG
	}
	return v.update(i, func(w *change) error { return w.allocate(mode, off, off+length) })
}

// allocate is Allocate of the bytes from off to end.
func (w *change) allocate(mode uint32, off, end int64) error {
	const keep = unix.FALLOC_FL_KEEP_SIZE
	switch mode {
	case 0, keep:
		if err := w.reserve(off, end); err != nil {
			return err
		}
	case unix.FALLOC_FL_PUNCH_HOLE | keep, unix.FALLOC_FL_ZERO_RANGE, unix.FALLOC_FL_ZERO_RANGE | keep:
		if err := w.zero(off, min(end, w.f.Size())); err != nil {
			return err
		}
	default:
		return syscall.EOPNOTSUPP
	}
	if mode&keep == 0 && end > w.f.Size() {
		return w.truncate(end)
	}
	return nil
}

// reserve makes room for the bytes from off to end, wherever the file ends.
func (w *change) reserve(off, end int64) error {
	first := uint64(off / unitSize)
	return w.f.Allocate(first, uint64((end+unitSize-1)/unitSize)-first)
}

// zero makes the bytes from off to end zeros, and the whole data units among
// them holes. end is not past the end of the file.
func (w *change) zero(off, end int64) error {
	if off >= end {
		return nil
	}
	size := w.f.Size()
	if w.f.Layout() == store.LayoutInline {
		return w.inline(size, func(p []byte) { clear(p[off:end]) })
	}
	first, last := (off+unitSize-1)/unitSize, end/unitSize
	if end == size {
		last = (size + unitSize - 1) / unitSize
	}
	if first > last { // inside one unit
		return w.unit(last, size, func(p []byte) { clear(p[off%unitSize : end%unitSize]) })
	}
	if head := first * unitSize; off < head {
		if err := w.unit(first-1, size, func(p []byte) { clear(p[off%unitSize:]) }); err != nil {
			return err
		}
	}
	if tail := last * unitSize; tail < end {
		if err := w.unit(last, size, func(p []byte) { clear(p[:end-tail]) }); err != nil {
			return err
		}
	}
	if first == last {
		return nil
	}
	return w.f.Punch(uint64(first), uint64(last-first))
}
