package ext4

import (
	"fmt"
	"io"
)

// A device is the image in blocks, with those of the journal over it that have
// to be replayed. It is safe for concurrent use.
type device struct {
	image     io.ReaderAt
	blockSize int
	log2      uint   // of blockSize
	blocks    uint64 // how many the file system has
	// replayed says which block of the image holds the present contents of
	// another one. It does not change once the device is in use.
	replayed map[uint64]logged
}

// logged is a block in the log.
type logged struct {
	block uint64
	// escaped means that the first four bytes, which were like those of the
	// journal's own blocks, are zero in the log.
	escaped bool
}

// readAt fills dst with what is at off, all of it within the file system.
func (d *device) readAt(dst []byte, off int64) error {
	if len(d.replayed) == 0 {
		return d.readImage(dst, off)
	}
	for len(dst) > 0 {
		skip := int(off) & (d.blockSize - 1)
		n := min(len(dst), d.blockSize-skip)
		at, replayed := d.replayed[uint64(off)>>d.log2]
		if replayed {
			if err := d.readLogged(dst[:n], at, skip); err != nil {
				return err
			}
		} else {
			for n < len(dst) {
				if _, next := d.replayed[uint64(off+int64(n))>>d.log2]; next {
					break
				}
				n = min(len(dst), n+d.blockSize)
			}
			if err := d.readImage(dst[:n], off); err != nil {
				return err
			}
		}
		dst, off = dst[n:], off+int64(n)
	}
	return nil
}

// readLogged fills dst with what is behind the first skip bytes of a block in
// the log.
func (d *device) readLogged(dst []byte, at logged, skip int) error {
	if err := d.readImage(dst, int64(at.block)<<d.log2+int64(skip)); err != nil {
		return err
	}
	if at.escaped && skip < len(journalMagicBytes) {
		copy(dst, journalMagicBytes[skip:])
	}
	return nil
}

// readImage fills dst with what the image itself has at off.
func (d *device) readImage(dst []byte, off int64) error {
	n, err := d.image.ReadAt(dst, off)
	if n == len(dst) {
		return nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("ext4: read %d bytes at %d: %w", len(dst), off, err)
}

// has reports whether count blocks beginning with first are in the file system,
// none of them being its first one, which holds nothing that is pointed to.
func (d *device) has(first, count uint64) bool {
	return first > 0 && first < d.blocks && count <= d.blocks-first
}
