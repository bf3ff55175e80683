package qcow2

import (
	"bytes"
	"compress/flate"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Entries of both levels have the place in the file in these bits; those of the
// second level tell by others what there is.
const (
	placeMask     = 0x00FFFFFFFFFFFE00
	entryZeros    = 1 << 0 // reads as zeros; not with subclusters
	entryCompress = 1 << 62
	sectorSize    = 512 // in which the length of a compressed cluster is counted

	subclusterCount = 32
)

// An entry is what the second level says of a cluster. bits are for subclusters:
// the lower half which are in the file, the upper half which are zeros.
type entry struct {
	cluster, bits uint64
}

// entry returns the entry of a cluster, zero if it is not in the file.
func (d *Disk) entry(cluster uint64) (entry, error) {
	perTable := d.clusterSize() / d.entrySize()
	place := be.Uint64(d.first[8*(cluster/perTable):]) & placeMask
	if place == 0 {
		return entry{}, nil
	}
	table, err := d.tables.get(place, func() ([]byte, error) {
		b := make([]byte, d.clusterSize())
		return b, d.readFile(b, place, false)
	})
	if err != nil {
		return entry{}, err
	}
	raw := table[cluster%perTable*d.entrySize():]
	e := entry{cluster: be.Uint64(raw)}
	if d.subclusters {
		e.bits = be.Uint64(raw[8:])
	}
	return e, nil
}

// readCluster fills dst with what is in a cluster from byte skip on.
func (d *Disk) readCluster(dst []byte, cluster, skip uint64) error {
	e, err := d.entry(cluster)
	switch {
	case err != nil:
		return err
	case e.cluster&entryCompress != 0:
		b, err := d.unpacked.get(cluster, func() ([]byte, error) { return d.unpack(cluster, e.cluster) })
		copy(dst, b[min(skip, uint64(len(b))):])
		return err
	case d.subclusters:
		return d.readSubclusters(dst, e, skip)
	case e.cluster&entryZeros != 0 || e.cluster&placeMask == 0:
		clear(dst)
		return nil
	}
	// QEMU cuts a file behind the last sector that it wrote.
	return d.readFile(dst, e.cluster&placeMask+skip, true)
}

// readSubclusters is readCluster where each of 32 parts may be in the file or not.
func (d *Disk) readSubclusters(dst []byte, e entry, skip uint64) error {
	size := d.clusterSize() / subclusterCount
	for len(dst) > 0 {
		n := skip / size
		part := dst[:min(uint64(len(dst)), size-skip%size)]
		switch zeros := e.bits>>(32+n)&1 == 1; {
		case e.bits>>n&1 == 0 || zeros:
			clear(part)
		case e.cluster&placeMask == 0:
			return damaged("a part of a cluster is at no place")
		default:
			if err := d.readFile(part, e.cluster&placeMask+skip, true); err != nil {
				return err
			}
		}
		dst, skip = dst[len(part):], skip+uint64(len(part))
	}
	return nil
}

// unpack returns a compressed cluster. Its entry has the place in the file, in
// bytes, and above it how many more sectors it touches.
func (d *Disk) unpack(cluster, e uint64) ([]byte, error) {
	split := 62 - (d.clusterBits - 8)
	off := e & (1<<split - 1)
	sectors := e&^entryCompress&^(1<<63)>>split + 1
	size := sectors*sectorSize - off%sectorSize
	if off >= d.fileSize {
		return nil, damaged("compressed cluster %d is behind the end of the file", cluster)
	}
	packed := make([]byte, min(size, d.fileSize-off))
	if err := d.readFile(packed, off, false); err != nil {
		return nil, err
	}
	b, err := d.decompress(packed)
	if err != nil {
		return nil, damaged("compressed cluster %d: %v", cluster, err)
	}
	return b, nil
}

// decompress returns the cluster that packed begins with. What is behind its end
// belongs to others.
func (d *Disk) decompress(packed []byte) ([]byte, error) {
	b := make([]byte, d.clusterSize())
	if d.compression == compressionDeflate {
		_, err := io.ReadFull(flate.NewReader(bytes.NewReader(packed)), b)
		return b, err
	}
	decoder, _ := d.decoders.Get().(*zstd.Decoder)
	if decoder == nil {
		var err error
		if decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(windowMax)); err != nil {
			return nil, err
		}
	}
	defer d.decoders.Put(decoder)
	if err := decoder.Reset(bytes.NewReader(packed)); err != nil {
		return nil, err
	}
	_, err := io.ReadFull(decoder, b)
	return b, err
}

// windowMax is how many bytes a frame of zstd may look back. A cluster is no
// larger than 2 MiB, and levels that are common need 8 MiB at most.
const windowMax = 8 << 20
