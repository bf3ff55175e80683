package fs

import (
	"errors"
	"io"
	"sync"
	"syscall"

	"encfs/decrypt"
	"encfs/workqueue"
)

// itemSize is how many bytes of data units a work item decrypts, so that what a
// queue costs is small beside the work and a large read still falls into enough
// items for several CPUs.
const itemSize = 64 << 10

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
	group workqueue.Group
	items []*decryption
	holes []bool
	buf   []byte // for spans that do not fit the caller's buffer
}

var readings = sync.Pool{New: func() any { return new(reading) }}

// A decryption is a work item that decrypts data units in place. buf belongs to
// it from when it is queued until its group has been waited for.
type decryption struct {
	workqueue.Work
	contents *decrypt.Contents
	buf      []byte
	first    uint64
}

func newDecryption() *decryption {
	d := new(decryption)
	d.Init(func(*workqueue.Work) { d.contents.DecryptUnits(d.buf, d.buf, d.first) })
	return d
}

// ReadAt reads plain contents at off of an open file into dst and returns the
// number of bytes: fewer than len(dst) only at the end of the file. Data is
// decrypted in dst itself where that has room for whole data units. It allocates
// nothing once its pools are warm.
func (v *Volume) ReadAt(i *Inode, dst []byte, off int64) (int, error) {
	n, err := v.readAt(i, dst, off)
	if v.opts.Shared && errors.Is(err, io.ErrUnexpectedEOF) {
		// Others have cut the file since its size was looked at.
		n, err = v.readAt(i, dst, off)
	}
	return n, err
}

func (v *Volume) readAt(i *Inode, dst []byte, off int64) (int, error) {
	if off < 0 {
		return 0, syscall.EINVAL
	}
	if v.opts.Shared {
		if err := v.refresh(i); err != nil {
			return 0, err
		}
	}
	i.mu.RLock()
	defer i.mu.RUnlock()
	if i.file == nil {
		return 0, syscall.EBADF
	}
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
		return n, v.readUnits(r, i, dst[:whole], s)
	}
	if cap(r.buf) < whole {
		r.buf = make([]byte, whole)
	}
	buf := r.buf[:whole]
	defer clear(buf)
	if err := v.readUnits(r, i, buf, s); err != nil {
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
func (v *Volume) readUnits(r *reading, i *Inode, buf []byte, s span) error {
	if cap(r.holes) < s.units {
		r.holes = make([]bool, s.units)
	}
	holes := r.holes[:s.units]
	n, err := i.file.ReadUnits(buf, uint64(s.first), holes)
	if err != nil {
		return v.report(err)
	}
	items, size := 0, i.unitSize
	itemUnits := max(itemSize/size, 1)
	for u := 0; u*size < n; {
		run := 1
		for u+run < s.units && holes[u+run] == holes[u] && (run < itemUnits || holes[u]) {
			run++
		}
		part := buf[u*size : min(n, (u+run)*size)]
		if holes[u] {
			clear(part)
		} else if i.contents == nil {
			// not encrypted
		} else if first := uint64(s.first) + uint64(u); v.opts.Queue == nil {
			i.contents.DecryptUnits(part, part, first)
		} else {
			if items == len(r.items) {
				r.items = append(r.items, newDecryption())
			}
			d := r.items[items]
			d.contents, d.buf, d.first = i.contents, part, first
			r.group.Queue(v.opts.Queue, &d.Work)
			items++
		}
		u += run
	}
	if items == 0 {
		return nil
	}
	err = r.group.Wait()
	for _, d := range r.items[:items] {
		d.contents, d.buf = nil, nil
	}
	return err
}
