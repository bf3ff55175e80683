package bench

import (
	"archive/tar"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// tarRecord is how many bytes tar(1) reads at a time: 20 blocks of 512 bytes.
const tarRecord = 20 * 512

// Tar archives files below root as tar(1) does: it looks at each, opens it, reads it
// from the beginning to the end, and closes it. The archive goes nowhere. It returns
// how many bytes of contents it has read.
//
// It is not tar(1) itself, as that one does not read what it would write to /dev/null,
// through a pipe costs more than reading, and is another program on each system.
func Tar(root string, paths []string) (int64, error) {
	w := tar.NewWriter(io.Discard)
	buf := make([]byte, tarRecord)
	var sum int64
	for _, path := range paths {
		n, err := tarFile(w, root, path, buf)
		sum += n
		if err != nil {
			return sum, err
		}
	}
	return sum, w.Close()
}

func tarFile(w *tar.Writer, root, path string, buf []byte) (int64, error) {
	full := filepath.Join(root, path)
	info, err := os.Lstat(full)
	if err != nil {
		return 0, err
	}
	header, err := tar.FileInfoHeader(info, "")
	if err != nil {
		return 0, err
	}
	header.Name = path
	if err := w.WriteHeader(header); err != nil {
		return 0, err
	}
	f, err := os.Open(full)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n, err := io.CopyBuffer(w, io.LimitReader(f, info.Size()), buf)
	if err == nil && n < info.Size() {
		err = fmt.Errorf("%s: %w after %d of %d bytes", path, io.ErrUnexpectedEOF, n, info.Size())
	}
	return n, err
}
