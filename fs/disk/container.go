package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"encfs/fs/disk/qcow2"
)

// An UnsupportedError means an image in a format that cannot be read here.
type UnsupportedError struct {
	Format string // as "gzip data"
	Reason string // why not, or ""
	Remedy string // what makes an image of it that can be read, or ""
}

func (e *UnsupportedError) Error() string {
	if e.Reason == "" {
		return "disk: " + e.Format
	}
	return "disk: " + e.Format + ": " + e.Reason
}

// ErrDamaged means that an image is not as its format says.
var ErrDamaged = qcow2.ErrDamaged

// A refusal is a format that is known, and not read.
type refusal struct {
	signature
	remedy string
}

// refusals are formats that give no access at random, or that nobody has needed
// yet.
var refusals = []refusal{
	{signature{0, "\x1F\x8B", "gzip data"}, "decompress it first: gzip -d"},
	{signature{0, "\xFD7zXZ\x00", "xz data"}, "decompress it first: xz -d"},
	{signature{0, "BZh", "bzip2 data"}, "decompress it first: bzip2 -d"},
	{signature{0, "\x04\x22\x4D\x18", "lz4 data"}, "decompress it first: lz4 -d"},
	{signature{0, "\x3A\xFF\x26\xED", "an Android sparse image"}, "make a plain one of it: simg2img"},
	{signature{0, "KDMV", "a VMDK image"}, convert},
	{signature{0, "# Disk DescriptorFile", "the description of a VMDK image"}, convert},
	{signature{0, "vhdxfile", "a VHDX image"}, convert},
	{signature{0, "conectix", "a VHD image"}, convert},
	{signature{64, "\x7F\x10\xDA\xBE", "a VDI image"}, convert},
	{signature{0, "WithoutFreeSpace", "a Parallels image"}, convert},
	{signature{0, "WithouFreSpacExt", "a Parallels image"}, convert},
	{signature{0, "EVF\x09\x0D\x0A\xFF\x00", "an EnCase image"}, "make a plain one of it: ewfexport"},
	{signature{0, "PK\x03\x04", "a zip archive"}, "extract it first: unzip"},
}

const convert = "make a plain one of it: qemu-img convert -O raw"

// An Image is the disk that is in a file.
type Image struct {
	io.ReaderAt
	Size   int64  // in bytes
	Format string // of the file, "raw" where it is a copy of the disk, or sparse
	close  func()
}

// Close frees the memory of an image. The file stays open.
func (i *Image) Close() error {
	if i.close != nil {
		i.close()
	}
	return nil
}

// Open returns the disk in a file of size bytes, in whatever format it is; what is
// in no known format is taken for a plain copy. The image is safe for concurrent
// use. The errors are an UnsupportedError, wrap ErrDamaged, or are those of
// reading.
func Open(file io.ReaderAt, size int64) (*Image, error) {
	const beginning = 512
	b := make([]byte, min(size, beginning))
	if n, err := file.ReadAt(b, 0); n < len(b) {
		return nil, fmt.Errorf("disk: %w", err)
	}
	switch {
	case bytes.HasPrefix(b, []byte(qcow2.Magic)):
		return openQcow2(file, size)
	case bytes.HasPrefix(b, []byte(zstdMagic)):
		return openZstd(file, size)
	}
	for _, r := range refusals {
		if match([]signature{r.signature}, b) != "" {
			return nil, &UnsupportedError{Format: r.name, Remedy: r.remedy}
		}
	}
	return &Image{ReaderAt: file, Size: size, Format: "raw"}, nil
}

func openQcow2(file io.ReaderAt, size int64) (*Image, error) {
	d, err := qcow2.Open(file, size)
	if e, ok := errors.AsType[*qcow2.UnsupportedError](err); ok {
		return nil, &UnsupportedError{Format: "a qcow2 image", Reason: "with " + e.Feature, Remedy: convert}
	}
	if err != nil {
		return nil, fmt.Errorf("disk: %w", err)
	}
	return &Image{ReaderAt: d, Size: d.Size(), Format: "qcow2"}, nil
}
