package ext4_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"encfs/fs/ext4"
)

// A countingImage counts how often it is read.
type countingImage struct {
	bytes.Reader
	reads atomic.Int64
}

func (c *countingImage) ReadAt(b []byte, off int64) (int, error) {
	c.reads.Add(1)
	return c.Reader.ReadAt(b, off)
}

// TestLinear lists directories and looks up all of their names: ten times as many
// cost ten times as many reads of the image, with an index and without one, with
// memory for metadata and without any.
func TestLinear(t *testing.T) {
	mke2fs := lookTool(t, "mke2fs")
	e2fsck := lookTool(t, "e2fsck")
	sizes := []int{250, 2500}
	for _, features := range []string{"dir_index", "^dir_index"} {
		var images []string
		for _, entries := range sizes {
			img := filepath.Join(t.TempDir(), "image")
			tree := makeLinks(t, entries)
			if out, err := exec.Command(mke2fs, "-q", "-F", "-t", "ext4", "-b", "1024", "-N", "64", "-O", features, "-d", tree, img, "4M").CombinedOutput(); err != nil {
				t.Fatalf("mke2fs: %v\n%s", err, out)
			}
			if features == "dir_index" { // made by e2fsck, which has code 1 then
				exec.Command(e2fsck, "-fyD", img).Run()
			}
			images = append(images, img)
		}
		for _, cache := range []int{0, 1} { // the default, and next to none
			t.Run(fmt.Sprintf("%s, cache %d", features, cache), func(t *testing.T) {
				var list, lookups [2]int64
				for n, entries := range sizes {
					list[n], lookups[n] = countReads(t, images[n], entries, cache)
				}
				t.Logf("reads for listing %v, for lookups %v", list, lookups)
				const factor = 12 // and not 10, as levels of trees come and go
				if list[1] > factor*list[0] || lookups[1] > factor*lookups[0]+100 {
					t.Errorf("ten times as many entries: reads for listing %v, for lookups %v", list, lookups)
				}
			})
		}
	}
}

// makeLinks returns a directory with so many names of one file.
func makeLinks(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	first := filepath.Join(dir, "a name that is rather long, number 0")
	if err := os.WriteFile(first, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range n - 1 {
		if err := os.Link(first, filepath.Join(dir, fmt.Sprintf("a name that is rather long, number %d", i+1))); err != nil {
			t.Skipf("no %d links to a file: %v", n, err)
		}
	}
	return dir
}

// countReads returns how often an image is read to list its root, and to look up
// all names in it.
func countReads(t *testing.T, path string, entries, cache int) (list, lookups int64) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	img := &countingImage{Reader: *bytes.NewReader(b)}
	s, err := ext4.Open(img, int64(len(b)), ext4.Options{CacheSize: cache})
	if err != nil {
		t.Fatal(err)
	}
	img.reads.Store(0)
	found, err := s.ReadDir(s.Root())
	if err != nil || len(found) < entries {
		t.Fatalf("%d entries of %d, error %v", len(found), entries, err)
	}
	list = img.reads.Swap(0)
	for _, e := range found {
		if _, _, err := s.Lookup(s.Root(), e.Name); err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
	}
	return list, img.reads.Load()
}
