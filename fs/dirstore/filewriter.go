package dirstore

import (
	"fmt"
	"math"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// A fileWriter is a file open for writing.
//
// The tail, the bytes past the last data unit whose number tells the size, is
// to be zero before a write leaves it behind in the middle of the file: it
// becomes part of a data unit that must be a hole. A shrinking file gets its
// new size first and its zeros afterwards, so that after a crash the tail may
// be anything. Therefore a file is taken to be unclean until its tail has been
// seen to.
type fileWriter struct {
	*file
	clean    bool // the tail is known to be zero
	anchored bool // the header is on its way to storage

	// The layout went from inline to blocks and that may not be on stable
	// storage, so that a crash may bring back the inline payload.
	fromInline atomic.Bool
}

var zeros [unitSize]byte // never written to

// SetContext implements store.FileWriter.
func (f *fileWriter) SetContext(context []byte) {
	if f.layout != store.LayoutEmpty {
		panic("dirstore: SetContext on a file that has one")
	}
	f.header = newHeader(typeFile, context, f.s.auth)
}

// InlineMax implements store.FileWriter.
func (f *fileWriter) InlineMax() int64 { return inlineMax }

// set records the state of the file, whose tail is known to be zero.
func (f *fileWriter) set(layout store.Layout, size int64) {
	f.layout, f.size, f.clean = layout, size, true
}

// lower returns the lower size.
func (f *fileWriter) lower() int64 { return lowerSize(f.layout, f.size) }

// WriteInline implements store.FileWriter.
func (f *fileWriter) WriteInline(ct []byte, size int64) error {
	switch {
	case size < 1 || size > inlineMax || int64(len(ct)) != roundUp(size, inlineUnit):
		panic(fmt.Sprintf("dirstore: WriteInline of %d bytes for size %d", len(ct), size))
	case f.layout == store.LayoutInline && size < f.size:
		panic("dirstore: WriteInline that shrinks the file")
	case f.header == nil:
		panic("dirstore: WriteInline without a context")
	}
	tail := zeros[:size%inlineUnit]
	var err error
	switch f.layout {
	case store.LayoutEmpty:
		if _, err = pwritev(f.fd, [][]byte{f.header[:], ct, tail}, 0); err != nil {
			ftruncate(f.fd, 0)
		}
	case store.LayoutInline:
		err = f.rewriteInline(ct, tail)
	case store.LayoutBlocks:
		err = f.backToInline(ct, tail)
	}
	if err == nil {
		if l := lowerSize(store.LayoutInline, size); l < f.lower() {
			err = f.resize(l)
		}
	}
	if err != nil {
		return f.failed("write", err)
	}
	f.set(store.LayoutInline, size)
	return nil
}

// backToInline puts the payload between the header and the data units, which
// are cut off next. A file system may bring writes to overwritten blocks to
// storage after a later change of size: what the payload replaces must not be
// needed any more before, and the payload must be there before the units go.
func (f *fileWriter) backToInline(ct, tail []byte) error {
	if f.fromInline.Load() {
		if err := f.sync(true); err != nil {
			return err
		}
	}
	if _, err := pwritev(f.fd, [][]byte{ct, tail}, inlineStart); err != nil {
		return err
	}
	return f.sync(true)
}

// rewriteInline puts a new payload over the old one, which it puts back if that
// fails: a data unit that is half new can be of no use to anyone.
func (f *fileWriter) rewriteInline(ct, tail []byte) error {
	var old [bodyOffset]byte
	n, err := pread(f.fd, old[:f.lower()-inlineStart], inlineStart)
	if err != nil {
		return err
	}
	if _, err = pwritev(f.fd, [][]byte{ct, tail}, inlineStart); err != nil {
		pwritev(f.fd, [][]byte{old[:n]}, inlineStart)
		ftruncate(f.fd, f.lower())
	}
	return err
}

// WriteUnits implements store.FileWriter. A size that the lower file cannot
// have gives EFBIG.
func (f *fileWriter) WriteUnits(ct []byte, first uint64, size int64) (int, error) {
	n := int64(len(ct) / unitSize)
	if n == 0 || len(ct)%unitSize != 0 {
		panic(fmt.Sprintf("dirstore: WriteUnits of %d bytes", len(ct)))
	}
	if size > maxSize || first > maxSize/unitSize {
		return 0, f.failed("write", unix.EFBIG)
	}
	size = max(size, f.size)
	end := int64(first) + n
	switch {
	case end > unitCount(size):
		panic("dirstore: WriteUnits past the size")
	case size > f.size && end != unitCount(size):
		panic("dirstore: WriteUnits with a size that is not in the last unit")
	case f.layout == store.LayoutInline && (first != 0 || end != unitCount(size)):
		panic("dirstore: WriteUnits leaves data of LayoutInline behind")
	case f.header == nil:
		panic("dirstore: WriteUnits without a context")
	}

	// The header and the gap after it belong to the same write as the first
	// units; units farther on begin with an empty file in LayoutBlocks.
	var bufs [][]byte
	off, lead := unitOffset(int64(first)), int64(0)
	if f.layout == store.LayoutEmpty {
		head := [][]byte{f.header[:], zeros[headerSize:bodyOffset]}
		if first == 0 {
			bufs = head
			off, lead = 0, bodyOffset
		} else if err := f.beginBlocks(head); err != nil {
			return 0, f.failed("write", err)
		}
	}
	bufs = append(bufs, ct)
	if f.layout == store.LayoutBlocks && int64(first) > unitCount(f.size) {
		if err := f.cleanTail(); err != nil {
			return 0, f.failed("write", err)
		}
	}
	grows := f.layout != store.LayoutBlocks || size > f.size
	if grows {
		bufs = append(bufs, zeros[:size%unitSize])
	}

	count, err := pwritev(f.fd, bufs, off)
	units := min(max(int64(count)-lead, 0)/unitSize, n)
	if err != nil {
		return f.settle(off, int64(count), lead, int64(first), units, n, size, err)
	}
	if !grows {
		return int(n), nil
	}
	// From 4095 to 4096 bytes the file grows and its lower size shrinks.
	if l := lowerSize(store.LayoutBlocks, size); f.layout == store.LayoutBlocks && l < f.lower() {
		if err := f.resize(l); err != nil {
			f.clean = false
			return int(n), f.failed("write", err)
		}
	}
	if f.layout == store.LayoutInline {
		f.fromInline.Store(true)
	}
	f.set(store.LayoutBlocks, size)
	return int(n), nil
}

// beginBlocks turns an empty file into one of size 0 in LayoutBlocks.
func (f *fileWriter) beginBlocks(head [][]byte) error {
	if _, err := pwritev(f.fd, head, 0); err != nil {
		ftruncate(f.fd, 0)
		return err
	}
	f.set(store.LayoutBlocks, 0)
	return nil
}

// resize sets the lower size of a file with a header. A file system may bring the
// size of ftruncate to storage at once, and what was written before only when it
// comes to it; a file must not be there without its header, so that goes first.
func (f *fileWriter) resize(l int64) error {
	if err := f.anchor(); err != nil {
		return err
	}
	return ftruncate(f.fd, l)
}

// anchor brings the header on its way to storage, so that whatever reaches the
// journal of the lower file system from now on does so after it.
func (f *fileWriter) anchor() error {
	if f.anchored {
		return nil
	}
	const wait = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	err := retry(func() error { return unix.SyncFileRange(f.fd, 0, bodyOffset, wait) })
	if err != nil {
		err = f.sync(true) // the file system has nothing finer
	}
	f.anchored = err == nil && f.layout != store.LayoutEmpty
	return err
}

// settle makes the file consistent after a write to off that stopped with err
// after count bytes: lead bytes, then units of n whole data units from first,
// then something. It returns what WriteUnits does.
func (f *fileWriter) settle(off, count, lead, first, units, n, size int64, err error) (int, error) {
	layout, target := f.layout, f.size
	if units > 0 {
		layout = store.LayoutBlocks
		target = max(f.size, min(size, (first+units)*unitSize))
	}
	f.clean = false
	grown := layout != f.layout || target != f.size
	if grown && f.resize(lowerSize(layout, target)) != nil {
		layout, target, grown = f.layout, f.size, false
	}
	if !grown {
		if off+count > f.lower() {
			f.resize(f.lower())
		}
		if layout == store.LayoutBlocks && off+count > unitOffset(unitCount(f.size)) {
			f.cleanTail()
		}
		if layout == store.LayoutBlocks {
			units = min(units, max(0, unitCount(f.size)-first))
		} else {
			units = 0
		}
	}
	if f.layout == store.LayoutInline && layout == store.LayoutBlocks {
		f.fromInline.Store(true)
	}
	f.layout, f.size = layout, target

	// A data unit of the old file may have been torn. If it was a hole, of
	// which the rest tells, it is made one again.
	torn := first + units
	if part := (count - lead) % unitSize; count > lead && units < n && part > 0 &&
		layout == store.LayoutBlocks && torn < unitCount(f.size) {
		var rest [unitSize]byte
		m, readErr := pread(f.fd, rest[part:], unitOffset(torn)+part)
		if readErr == nil && int64(m) == unitSize-part && allZeroBytes(rest[part:]) {
			f.zero(unitOffset(torn), unitSize)
		}
	}
	if units == n && f.size >= size {
		// Only zeros of the tail were missing, which the new size has brought.
		return int(n), nil
	}
	return int(units), f.failed("write", err)
}

func allZeroBytes(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// cleanTail sees to it that the tail is zero, in LayoutBlocks.
func (f *fileWriter) cleanTail() error {
	tail := f.size % unitSize
	if f.clean || tail == 0 {
		return nil
	}
	// A whole block, past the end of the file: part of one would be zeroed
	// rather than freed.
	const punch = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE
	if fallocate(f.fd, punch, unitOffset(unitCount(f.size)), unitSize) != nil {
		if _, err := pwritev(f.fd, [][]byte{zeros[:tail]}, unitOffset(unitCount(f.size))); err != nil {
			return err
		}
	}
	f.clean = true
	return nil
}

// zero sets lower bytes of the file to zero, as a hole where that can be.
func (f *fileWriter) zero(off, n int64) error {
	if fallocate(f.fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n) == nil {
		return nil
	}
	for n > 0 {
		count, err := pwritev(f.fd, [][]byte{zeros[:min(n, unitSize)]}, off)
		if err != nil {
			return err
		}
		off, n = off+int64(count), n-int64(count)
	}
	return nil
}

// Truncate implements store.FileWriter. A size that the lower file cannot have
// gives EFBIG.
func (f *fileWriter) Truncate(size int64) error {
	switch {
	case size < 0:
		panic("dirstore: Truncate to a negative size")
	case size > maxSize:
		return f.failed("truncate", unix.EFBIG)
	case size > 0 && f.layout == store.LayoutInline:
		panic("dirstore: Truncate of a file in LayoutInline")
	case size > 0 && f.header == nil:
		panic("dirstore: Truncate without a context")
	}
	if err := f.truncate(size); err != nil {
		return f.failed("truncate", err)
	}
	return nil
}

func (f *fileWriter) truncate(size int64) error {
	if size == 0 {
		if err := ftruncate(f.fd, 0); err != nil {
			return err
		}
		f.set(store.LayoutEmpty, 0)
		f.header, f.anchored = nil, false
		return nil
	}
	if f.layout == store.LayoutEmpty {
		if err := f.beginBlocks([][]byte{f.header[:], zeros[headerSize:bodyOffset]}); err != nil {
			return err
		}
	}
	if size >= f.size {
		// What was the tail may come to lie in a unit or in the new tail.
		if err := f.cleanTail(); err != nil {
			return err
		}
		if err := f.resize(lowerSize(store.LayoutBlocks, size)); err != nil {
			return err
		}
		f.set(store.LayoutBlocks, size)
		return nil
	}
	if f.s.zeroesFirst && unitCount(size) < unitCount(f.size) {
		// The new end lies in a data unit, of which this file system would bring
		// the rest to storage as zeros before the new size: half a data unit is
		// garbage if there is a crash between. So the unit goes first, as a whole.
		if err := f.resize(unitOffset(unitCount(size))); err != nil {
			return err
		}
	}
	if err := f.resize(lowerSize(store.LayoutBlocks, size)); err != nil {
		return err
	}
	// The tail is what was there before: the beginning of a unit that is gone,
	// or of the old tail, or new if there was none.
	f.clean = unitCount(size) == unitCount(f.size) && (f.clean || f.size%unitSize == 0)
	f.size = size
	// The file is right even if this fails: it is tried again before the tail
	// would be read.
	f.cleanTail()
	return nil
}

// Punch implements store.FileWriter.
func (f *fileWriter) Punch(first, n uint64) error {
	if f.layout != store.LayoutBlocks {
		panic("dirstore: Punch in a file that is not in LayoutBlocks")
	}
	units := uint64(unitCount(f.size))
	if first >= units || n == 0 {
		return nil
	}
	n = min(n, units-first)
	if err := f.zero(unitOffset(int64(first)), int64(n)*unitSize); err != nil {
		return f.failed("punch", err)
	}
	return nil
}

// Allocate implements store.FileWriter.
func (f *fileWriter) Allocate(first, n uint64) error {
	const most = math.MaxInt64>>unitShift - 2
	if first > most || n > most-first {
		return f.failed("allocate", unix.EFBIG)
	}
	if n == 0 {
		return nil
	}
	err := fallocate(f.fd, unix.FALLOC_FL_KEEP_SIZE, unitOffset(int64(first)), int64(n)*unitSize)
	if err == unix.ENOSYS {
		err = unix.EOPNOTSUPP
	}
	if err != nil {
		return f.failed("allocate", err)
	}
	return nil
}

// Sync implements store.FileWriter.
func (f *fileWriter) Sync(dataOnly bool) error {
	if err := f.sync(dataOnly); err != nil {
		return f.failed("sync", err)
	}
	return nil
}

func (f *fileWriter) sync(dataOnly bool) error {
	sync := unix.Fsync
	if dataOnly {
		sync = unix.Fdatasync
	}
	if err := retry(func() error { return sync(f.fd) }); err != nil {
		return err
	}
	f.fromInline.Store(false)
	f.anchored = f.layout != store.LayoutEmpty
	return nil
}
