// Package qcow2 reads disks in QEMU's image format qcow2, versions 2 and 3, at
// random and without QEMU. The format is that of docs/interop/qcow2.rst in the
// QEMU sources.
//
// The disk is cut into clusters. A table of two levels says for each cluster
// where in the file it is, whether it is compressed, or that it is zeros. Numbers
// are big-endian.
//
// An image that names another file, which has the clusters that it lacks or all
// of them, is refused: such a name leads anywhere. So are encrypted images.
// Snapshots in the image are not looked at.
package qcow2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Magic is what an image begins with.
const Magic = "QFI\xFB"

// An UnsupportedError means an image with something that this package does not
// read.
type UnsupportedError struct {
	Feature string // in words
}

func (e *UnsupportedError) Error() string { return "qcow2: not supported: " + e.Feature }

// ErrDamaged means that an image is not as the format says.
var ErrDamaged = errors.New("damaged image")

func damaged(format string, args ...any) error {
	return fmt.Errorf("qcow2: %w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

var be = binary.BigEndian

// A Disk is the disk in an image. It is an io.ReaderAt, and safe for concurrent
// use.
type Disk struct {
	file     io.ReaderAt
	fileSize uint64
	header
	tables   *cache    // of the second level, by their places in the file
	unpacked *cache    // compressed clusters, by their numbers
	decoders sync.Pool // of *zstd.Decoder
}

// Memory for tables and for unpacked clusters, in bytes each; at least two of
// them have room.
const cacheSize = 8 << 20

// Open opens the disk in a file of size bytes. The errors wrap ErrDamaged, or are
// an UnsupportedError or one of reading. The file stays the caller's.
func Open(file io.ReaderAt, size int64) (*Disk, error) {
	d := &Disk{file: file, fileSize: uint64(size)}
	if err := d.readHeader(); err != nil {
		return nil, err
	}
	entries := max(cacheSize>>d.clusterBits, 2)
	d.tables, d.unpacked = newCache(entries), newCache(entries)
	return d, nil
}

// Size returns the size of the disk in bytes.
func (d *Disk) Size() int64 { return int64(d.size) }

// ReadAt implements io.ReaderAt.
func (d *Disk) ReadAt(dst []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("qcow2: read before the beginning")
	}
	done := 0
	for done < len(dst) {
		at := uint64(off) + uint64(done)
		if at >= d.size {
			return done, io.EOF
		}
		skip := at & (d.clusterSize() - 1)
		n := min(uint64(len(dst)-done), d.clusterSize()-skip, d.size-at)
		if err := d.readCluster(dst[done:][:n], at>>d.clusterBits, skip); err != nil {
			return done, err
		}
		done += int(n)
	}
	return done, nil
}

// readFile fills dst with what is at a place in the file. Where the file ends in
// dst, the rest is zeros if short is set, and an error if not.
func (d *Disk) readFile(dst []byte, off uint64, short bool) error {
	if off > d.fileSize || !short && uint64(len(dst)) > d.fileSize-off {
		return damaged("%d bytes at %d are behind the end of the file", len(dst), off)
	}
	n := int(min(uint64(len(dst)), d.fileSize-off))
	if got, err := d.file.ReadAt(dst[:n], int64(off)); got < n {
		return fmt.Errorf("qcow2: read %d bytes at %d: %w", n, off, err)
	}
	clear(dst[n:])
	return nil
}

// A cache keeps some blocks of bytes, which do not change. It is safe for
// concurrent use.
type cache struct {
	mu     sync.Mutex
	max    int
	blocks map[uint64][]byte // guarded by mu
	order  []uint64          // a ring of their keys, guarded by mu
	oldest int               // in order, once it is full; guarded by mu
}

func newCache(entries int) *cache { return &cache{max: entries, blocks: map[uint64][]byte{}} }

// get returns a block, from load if it is not there.
func (c *cache) get(key uint64, load func() ([]byte, error)) ([]byte, error) {
	c.mu.Lock()
	b, ok := c.blocks[key]
	c.mu.Unlock()
	if ok {
		return b, nil
	}
	b, err := load()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if had, ok := c.blocks[key]; ok { // loaded by somebody else meanwhile
		return had, nil
	}
	c.blocks[key] = b
	if len(c.order) < c.max {
		c.order = append(c.order, key)
		return b, nil
	}
	delete(c.blocks, c.order[c.oldest])
	c.order[c.oldest] = key
	c.oldest = (c.oldest + 1) % c.max
	return b, nil
}
