package disk

import (
	"fmt"
	"io"

	seekable "github.com/SaveTheRbtz/zstd-seekable-format-go/pkg"
	"github.com/SaveTheRbtz/zstd-seekable-format-go/pkg/framecache"
	"github.com/klauspost/compress/zstd"
)

const (
	zstdMagic = "\x28\xB5\x2F\xFD"
	// seekTableMagic ends a file with a seek table.
	seekTableMagic = "\xB1\xEA\x92\x8F"

	// zstdFrameMax is how many bytes a frame may have, packed or not: to read one
	// byte of it, all of it is decompressed.
	zstdFrameMax = 64 << 20
	// zstdCacheSize is how many bytes of frames are kept.
	zstdCacheSize = 64 << 20
)

// openZstd opens a file of several frames with a seek table behind them, as the
// seekable format of zstd (contrib/seekable_format in its sources) has it.
func openZstd(file io.ReaderAt, size int64) (*Image, error) {
	end := make([]byte, min(size, int64(len(seekTableMagic))))
	if n, err := file.ReadAt(end, size-int64(len(end))); n < len(end) {
		return nil, fmt.Errorf("disk: %w", err)
	}
	if string(end) != seekTableMagic {
		return nil, &UnsupportedError{
			Format: "zstd data", Reason: "without a seek table",
			Remedy: "decompress it first, with zstd -d, or pack it in the seekable format",
		}
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(zstdFrameMax), zstd.WithDecoderConcurrency(0))
	if err != nil {
		return nil, fmt.Errorf("disk: zstd: %w", err)
	}
	r, err := seekable.NewReader(io.NewSectionReader(file, 0, size), decoder,
		seekable.WithReaderFrameCache(framecache.NewLRU(framecache.Limits{MaxFrames: 1 << 16, MaxBytes: zstdCacheSize})))
	var table seekable.SeekTable
	if err == nil {
		table, err = r.SeekTable()
	}
	if err == nil {
		err = checkFrames(table, size)
	}
	if err != nil {
		decoder.Close()
		return nil, fmt.Errorf("disk: %w: zstd: %w", ErrDamaged, err)
	}
	return &Image{
		ReaderAt: r,
		Size:     int64(table.Size()),
		Format:   "seekable zstd",
		close: func() {
			r.Close()
			decoder.Close()
		},
	}, nil
}

// checkFrames returns an error for frames that are too large, or that are not in
// the file.
func checkFrames(table seekable.SeekTable, size int64) error {
	for id := range table.NumFrames() {
		f, ok := table.EntryByID(id)
		switch {
		case !ok:
			return fmt.Errorf("frame %d is missing", id)
		case f.DecompressedSize > zstdFrameMax || f.CompressedSize > zstdFrameMax:
			return fmt.Errorf("frame %d has %d bytes, %d packed, of %d at most", id, f.DecompressedSize, f.CompressedSize, zstdFrameMax)
		case f.CompressedOffset+uint64(f.CompressedSize) > uint64(size):
			return fmt.Errorf("frame %d is behind the end of the file", id)
		}
	}
	return nil
}
