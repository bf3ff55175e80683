package fs

import (
	"errors"
	"io"
	"sync"
	"syscall"

	"encfs/decrypt"
	"encfs/workqueue"
)

// ItemSize is how many bytes of data units a work item decrypts, so that what a
// queue costs is small beside the work and a large read still falls into enough
// items for several CPUs.
const ItemSize = 64 << 10

// A span is the data units that a read touches.
type span struct {
	first int64 // number of the first unit
	units int   // how many
	skip  int   // bytes of the first unit before the read begins
}

// spanOf returns the span of n bytes at off, in data units of size bytes; n is at
// least 1.
func spanOf(off int64, n, size int) span {
	first := off / int64(size)
	return span{
		first: first,
		units: int((off+int64(n)-1)/int64(size)-first) + 1,
		skip:  int(off - first*int64(size)),
	}
}

// A reading is what a read needs besides the caller's buffer.
type reading struct {
	loop  workqueue.Loop
	holes []bool
	buf   []byte // for spans that do not fit the caller's buffer

	// What the loop decrypts, in place, until it has run.
	contents *decrypt.Contents
	data     []byte
	first    uint64 // number of the first data unit in data
	unitSize int    // in bytes
	units    int    // in data, of which the last may be a part
	full     int    // of these, that are no holes
	done     bool   // they are decrypted already

	arrival arrival // where ciphertext arrives on certain CPUs
}

var readings = sync.Pool{New: func() any { return newReading() }}

func newReading() *reading {
	r := new(reading)
	r.loop.Init(r.decrypt)
	r.arrival.Init(r.arrive)
	return r
}

// decrypt decrypts the data units from, inclusive, to to, exclusive, counted from
// the first of the read, and makes holes zeros. Without contents there is nothing
// to decrypt.
func (r *reading) decrypt(from, to int) {
	for from < to {
		run := 1
		for from+run < to && r.holes[from+run] == r.holes[from] {
			run++
		}
		part := r.data[from*r.unitSize : min(len(r.data), (from+run)*r.unitSize)]
		if r.holes[from] {
			clear(part)
		} else if r.contents != nil {
			r.contents.DecryptUnits(part, part, r.first+uint64(from))
		}
		from += run
	}
}

// ReadAt reads plain contents at off of an open file into dst and returns the
// number of bytes: fewer than len(dst) only at the end of the file. Data is
// decrypted in dst itself where that has room for whole data units. It allocates
// nothing once its pools are warm.
func (v *Volume) ReadAt(i *Inode, dst []byte, off int64) (int, error) {
	return v.readUntil(i, dst, off, nil)
}

// readUntil is ReadAt that gives up when cancel is closed, with an error that wraps
// workqueue.ErrCanceled. What dst holds is undefined then, but nobody writes to it any
// more.
func (v *Volume) readUntil(i *Inode, dst []byte, off int64, cancel <-chan struct{}) (int, error) {
	n, err := v.readAt(i, dst, off, cancel)
	if v.opts.Shared && errors.Is(err, io.ErrUnexpectedEOF) {
		// Others have cut the file since its size was looked at.
		n, err = v.readAt(i, dst, off, cancel)
	}
	return n, err
}

func (v *Volume) readAt(i *Inode, dst []byte, off int64, cancel <-chan struct{}) (int, error) {
	if off < 0 {
		return 0, syscall.EINVAL
	}
	if v.opts.Shared {
		if err := v.refresh(i); err != nil {
			return 0, err
		}
	}
	if err := v.rlockOpen(i); err != nil {
		return 0, err
	}
	defer i.mu.RUnlock()
	size := i.file.Size()
	if off >= size || len(dst) == 0 {
		return 0, nil
	}
	n := int(min(int64(len(dst)), size-off))
	s := spanOf(off, n, i.unitSize)
	r := readings.Get().(*reading)
	defer readings.Put(r)
	whole := s.units * i.unitSize
	if s.skip == 0 && whole <= len(dst) {
		return n, v.readUnits(r, i, dst[:whole], s, cancel)
	}
	if cap(r.buf) < whole {
		r.buf = make([]byte, whole)
	}
	buf := r.buf[:whole]
	defer clear(buf)
	if err := v.readUnits(r, i, buf, s, cancel); err != nil {
		return 0, err
	}
	return copy(dst[:n], buf[s.skip:]), nil
}

// refresh brings what is remembered of an open file up to date.
func (v *Volume) refresh(i *Inode) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.file == nil {
		return syscall.EBADF
	}
	return v.reload(i)
}

// readUnits reads the data units of a span into buf and decrypts them there,
// unless the file is not encrypted, with zeros where they are holes. i.mu is held
// for reading.
//
// Reading from the store is one system call, or a few, and is not interrupted.
func (v *Volume) readUnits(r *reading, i *Inode, buf []byte, s span, cancel <-chan struct{}) error {
	if isClosed(cancel) {
		return workqueue.ErrCanceled
	}
	if cap(r.holes) < s.units {
		r.holes = make([]bool, s.units)
	}
	r.holes = r.holes[:s.units]
	watch := v.counters.startRead()
	var err error
	if m := v.opts.Measure; m != nil && m.Completion != nil {
		watch, err = v.complete(r, i, buf, s, watch)
	} else if err = r.fetch(i, buf, s); err == nil {
		watch.lap(lowerRead)
	}
	defer func() { r.data, r.contents, r.done = nil, nil, false }()
	if err != nil {
		return v.report(err)
	}
	switch {
	case r.contents == nil:
		r.decrypt(0, r.units)
		return nil
	case r.done:
	case r.full == 0 || v.opts.Queue == nil:
		r.decrypt(0, r.units)
	default:
		pages := r.full * i.unitSize / unitSize // unitTime is that of a cipher directory's data unit
		err = r.loop.Run(v.opts.Queue, r.units, r.perItem(), ShareableWork(pages, i.unitTime), cancel)
	}
	watch.lap(decrypted)
	return err
}

// fetch reads the data units of a span into buf, and notes what there is to
// decrypt. i.mu is held for reading.
func (r *reading) fetch(i *Inode, buf []byte, s span) error {
	n, err := i.file.ReadUnits(buf, uint64(s.first), r.holes)
	if err != nil {
		return err
	}
	r.data, r.first, r.contents, r.unitSize = buf[:n], uint64(s.first), i.contents, i.unitSize
	r.units = (n + i.unitSize - 1) / i.unitSize
	r.full = 0
	for _, hole := range r.holes[:r.units] {
		if !hole {
			r.full++
		}
	}
	return nil
}

// perItem returns how many data units make a work item.
func (r *reading) perItem() int { return max(ItemSize/r.unitSize, 1) }
