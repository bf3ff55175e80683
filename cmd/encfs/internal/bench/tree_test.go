package bench

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

func TestGenerateTree(t *testing.T) {
	for _, size := range []int64{1, 2, 31, 100, 64 << 10, 1<<20 + 1} {
		var trees [2][]TreeFile
		var sums [2]string
		for k := range trees {
			dir := t.TempDir()
			if err := GenerateTree(context.Background(), dir, size); err != nil {
				t.Fatal(err)
			}
			files, err := ListTree(dir)
			if err != nil {
				t.Fatal(err)
			}
			if got := TreeSize(files); got != size {
				t.Errorf("%d bytes: the files have %d", size, got)
			}
			trees[k] = files
			for _, f := range files {
				b, err := os.ReadFile(filepath.Join(dir, f.Path))
				if err != nil {
					t.Fatal(err)
				}
				sums[k] += string(b)
			}
			paths := make([]string, len(files))
			for i, f := range files {
				paths[i] = f.Path
			}
			if n, err := Tar(dir, paths); n != size || err != nil {
				t.Errorf("Tar = %d, %v, want %d", n, err, size)
			}
			if _, err := Tar(dir, append(paths, "missing")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Tar of a missing file: %v", err)
			}
		}
		if !reflect.DeepEqual(trees[0], trees[1]) || sums[0] != sums[1] {
			t.Errorf("%d bytes: two trees differ", size)
		}
	}
}

func TestGenerateTreeGivesUp(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := GenerateTree(ctx, t.TempDir(), 1000); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestListTreeLeavesOut(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "b"), []byte("x"), 0o600)
	os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600)
	os.Mkdir(filepath.Join(dir, "a"), 0o700)
	os.WriteFile(filepath.Join(dir, "a", "f"), []byte("xy"), 0o600)
	os.Symlink("b", filepath.Join(dir, "link"))
	got, err := ListTree(dir)
	if want := []TreeFile{{"a/f", 2}, {"b", 1}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if _, err := ListTree(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of no directory: %v", err)
	}
}

func TestDivide(t *testing.T) {
	files := []TreeFile{{"a", 5}, {"b", 1}, {"c", 4}, {"d", 3}, {"e", 3}, {"f", 2}}
	for _, tt := range []struct {
		n    int
		want []string // the largest first: a=5, c=4, d=3, e=3, f=2, b=1
	}{
		{1, []string{"abcdef"}},
		{2, []string{"abe", "cdf"}},
		{6, []string{"a", "c", "d", "e", "f", "b"}},
	} {
		var got []string
		for _, part := range Divide(files, tt.n) {
			paths := ""
			for _, f := range part {
				paths += f.Path
			}
			got = append(got, paths)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%d parts: got %v, want %v", tt.n, got, tt.want)
		}
	}
	if parts := Divide(files[:1], 3); len(parts) != 3 || len(parts[0]) != 1 || len(parts[1])+len(parts[2]) != 0 {
		t.Errorf("one file in three parts: %v", parts)
	}
}
