package fs

import (
	"errors"
	"syscall"

	"encfs/fs/store"
)

// readWhole reads the whole contents of a file, open or not, of the given size into
// dst, which has room for whole data units. It leaves no trace: the file is not kept
// open, its time of access stays where the store can see to that, and errors are not
// logged. It fails if the file has another size.
func (v *Volume) readWhole(i *Inode, dst []byte, size int64) error {
	i.mu.RLock()
	defer i.mu.RUnlock()
	r := readings.Get().(*reading)
	defer readings.Put(r)
	s := spanOf(0, int(size), unitSize)
	if i.file != nil {
		if i.file.Size() != size || i.unitSize != unitSize {
			return errOtherSize
		}
		return v.readUnits(r, i, dst, s, nil)
	}
	w, ok := v.store.(store.WholeReader)
	if !ok {
		return syscall.EOPNOTSUPP
	}
	if cap(r.holes) < s.units {
		r.holes = make([]bool, s.units)
	}
	r.holes = r.holes[:s.units]
	context, n, err := w.ReadWhole(i.node, dst, size, r.holes)
	if err != nil {
		return err
	}
	c, _, err := v.newContents(i.node, context)
	if err != nil {
		return err
	}
	r.data, r.first, r.contents, r.unitSize = dst[:n], 0, c, unitSize
	defer func() { r.data, r.contents = nil, nil }()
	r.decrypt(0, s.units)
	return nil
}

var errOtherSize = errors.New("the size is another")
