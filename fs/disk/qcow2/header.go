package qcow2

import (
	"bytes"
	"fmt"
	"math"
)

const (
	headerSizeV2 = 72
	headerSizeV3 = 104

	clusterBitsMin = 9
	clusterBitsMax = 21
	clusterSizeMax = 1 << clusterBitsMax
	// firstLevelMax is how many bytes the table of the first level may have,
	// which is what QEMU allows too.
	firstLevelMax = 32 << 20
)

// Incompatible features.
const (
	featureDirty       = 1 << 0 // reference counts, which only writing needs, may be wrong
	featureCorrupt     = 1 << 1 // QEMU found something wrong and only reads it any more
	featureDataFile    = 1 << 2
	featureCompression = 1 << 3 // a compression other than deflate
	featureSubclusters = 1 << 4
	featuresKnown      = featureDirty | featureCorrupt | featureCompression | featureSubclusters
)

// Compression types.
const (
	compressionDeflate = 0
	compressionZstd    = 1
)

// A header is what is used of the header, checked, and the table of the first
// level.
type header struct {
	clusterBits uint
	size        uint64 // of the disk, in bytes; at most math.MaxInt64
	subclusters bool   // entries of the second level have 16 bytes, with bits for 32 parts
	compression byte
	first       []byte // table of the first level: 8 bytes for each table of the second
}

func (h *header) clusterSize() uint64 { return 1 << h.clusterBits }

// entrySize returns the size in bytes of an entry of the second level.
func (h *header) entrySize() uint64 {
	if h.subclusters {
		return 16
	}
	return 8
}

func (d *Disk) readHeader() error {
	b := make([]byte, headerSizeV3+8)
	if err := d.readFile(b, 0, true); err != nil {
		return err
	}
	if !bytes.HasPrefix(b, []byte(Magic)) {
		return damaged("it does not begin with %q", Magic)
	}
	version := be.Uint32(b[4:])
	if version != 2 && version != 3 {
		return &UnsupportedError{fmt.Sprintf("version %d", version)}
	}
	if be.Uint64(b[8:]) != 0 {
		return &UnsupportedError{"a backing file, " + d.backingFile(be.Uint64(b[8:]), be.Uint32(b[16:]))}
	}
	d.clusterBits, d.size = uint(be.Uint32(b[20:])), be.Uint64(b[24:])
	switch {
	case be.Uint32(b[32:]) != 0:
		return &UnsupportedError{"encryption"}
	case d.clusterBits < clusterBitsMin || d.clusterBits > clusterBitsMax:
		return damaged("clusters of 2^%d bytes", d.clusterBits)
	case d.size > math.MaxInt64-clusterSizeMax:
		return damaged("a disk of %d bytes", d.size)
	}
	if version == 3 {
		if err := d.readFeatures(b); err != nil {
			return err
		}
	}
	return d.readFirstLevel(be.Uint64(b[40:]), be.Uint32(b[36:]))
}

// backingFile returns the name that a header has of another file.
func (d *Disk) backingFile(off uint64, size uint32) string {
	const nameMax = 1023
	name := make([]byte, min(size, nameMax))
	if d.readFile(name, off, false) != nil {
		return "whose name is damaged"
	}
	return fmt.Sprintf("%q", name)
}

// readFeatures takes what version 3 has more.
func (d *Disk) readFeatures(b []byte) error {
	features, length := be.Uint64(b[72:]), be.Uint32(b[100:])
	switch {
	case features&featureDataFile != 0:
		return &UnsupportedError{"data in another file"}
	case features&^featuresKnown != 0:
		return &UnsupportedError{fmt.Sprintf("incompatible features %#x", features&^featuresKnown)}
	case length < headerSizeV3:
		return damaged("a header of %d bytes", length)
	}
	d.subclusters = features&featureSubclusters != 0
	if d.subclusters && d.clusterBits < 14 {
		return damaged("clusters of 2^%d bytes are too small for parts", d.clusterBits)
	}
	if features&featureCompression != 0 && length > headerSizeV3 {
		d.compression = b[headerSizeV3]
	}
	if d.compression > compressionZstd {
		return &UnsupportedError{fmt.Sprintf("compression type %d", d.compression)}
	}
	return nil
}

// readFirstLevel reads the table of the first level as far as the disk needs it.
func (d *Disk) readFirstLevel(off uint64, entries uint32) error {
	reach := d.clusterSize() * (d.clusterSize() / d.entrySize()) // of an entry
	need := (d.size + reach - 1) / reach
	if need > firstLevelMax/8 {
		return damaged("a disk of %d bytes in clusters of %d", d.size, d.clusterSize())
	}
	if uint64(entries) < need {
		return damaged("%d entries in the table of the first level, of %d", entries, need)
	}
	if 8*need > d.fileSize { // before there is memory for it
		return damaged("the table of the first level is behind the end of the file")
	}
	d.first = make([]byte, 8*need)
	return d.readFile(d.first, off, false)
}
