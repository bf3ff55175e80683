package bench

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// A TreeFile is a regular file of a tree.
type TreeFile struct {
	Path string // relative to the root of the tree
	Size int64
}

// ListTree returns the regular files with contents below a directory, in the order of
// their paths. All else, such as symbolic links, is left out.
func ListTree(root string) ([]TreeFile, error) {
	var files []TreeFile
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Size() > 0 {
			files = append(files, TreeFile{path, info.Size()})
		}
		return nil
	})
	return files, err
}

// TreeSize returns the sum of the sizes of files, in bytes.
func TreeSize(files []TreeFile) int64 {
	var sum int64
	for _, f := range files {
		sum += f.Size
	}
	return sum
}

// Divide divides files into n parts, at least 1, that have about the same number of
// bytes: each file, the largest first, goes to the part that has the fewest. In a part
// the files keep their order. With fewer files than parts some parts are empty.
func Divide(files []TreeFile, n int) [][]TreeFile {
	order := make([]int, len(files))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(files[b].Size, files[a].Size) })
	part, sums := make([]int, len(files)), make([]int64, n)
	for _, i := range order {
		least := 0
		for k, sum := range sums {
			if sum < sums[least] {
				least = k
			}
		}
		part[i] = least
		sums[least] += files[i].Size
	}
	parts := make([][]TreeFile, n)
	for i, f := range files {
		parts[part[i]] = append(parts[part[i]], f)
	}
	return parts
}

// The generated tree has a part of its bytes in files as a tree of source code has them,
// whose sizes are distributed log-normally, and the rest in largeFiles files of equal
// size. The former is small, as what a mount does for a file takes longer than decrypting
// such a one.
const (
	smallPart   = 16 // one in so many bytes is in a small file
	largeFiles  = 16
	medianSize  = 6 << 10 // of the small files
	spreadOfLog = 1.3     // standard deviation of the natural logarithm of their size
	maxSmall    = 256 << 10
	filesPerDir = 24
)

// generatedTree returns the files of a tree of so many bytes in all, always the same.
func generatedTree(size int64) []TreeFile {
	rnd := rand.New(rand.NewPCG(2018, 1))
	var files []TreeFile
	small := size / smallPart
	for n := 0; small > 0; n++ {
		s := int64(math.Exp(math.Log(medianSize) + spreadOfLog*rnd.NormFloat64()))
		s = min(max(s, 1), maxSmall, small)
		files = append(files, TreeFile{fmt.Sprintf("src/dir%03d/file%02d.c", n/filesPerDir, n%filesPerDir), s})
		small -= s
	}
	large := size - size/smallPart
	for n := range int64(largeFiles) {
		s := large/largeFiles + min(1, (large%largeFiles+largeFiles-1-n)/largeFiles)
		if s > 0 {
			files = append(files, TreeFile{fmt.Sprintf("data/file%02d.bin", n), s})
		}
	}
	return files
}

// GenerateTree writes a tree of so many bytes in all to an empty directory, the same
// each time. It gives up when ctx is done.
func GenerateTree(ctx context.Context, root string, size int64) error {
	var contents [1 << 16]byte
	for n, f := range generatedTree(size) {
		path := filepath.Join(root, f.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		rnd := rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), byte(n >> 16)})
		if err := writeRandom(ctx, path, f.Size, rnd, contents[:]); err != nil {
			return err
		}
	}
	return nil
}

func writeRandom(ctx context.Context, path string, size int64, rnd *rand.ChaCha8, buf []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	for size > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := buf[:min(size, int64(len(buf)))]
		rnd.Read(part)
		if _, err := f.Write(part); err != nil {
			return err
		}
		size -= int64(len(part))
	}
	return f.Close()
}
