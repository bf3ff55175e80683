package fs_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"encfs/fs"
	"encfs/fs/dirstore"
)

// A lower file system may bring a new size and new blocks to storage before
// what was written over blocks that were there: after a crash these have their
// old contents. What was synced before must then be there still, with the new
// size or the old, and zeros at most behind it.
func TestGrowthBeforeOverwrite(t *testing.T) {
	for _, p := range testPolicies {
		for _, from := range []int{1, 15, 16, 17, 100, 3951, 3952, 3953, 4095, 4096} {
			for _, to := range []int{15, 16, 17, 32, 33, 200, 3952, 3953, 4095, 4096, 4097, 9000} {
				if to <= from {
					continue
				}
				for _, how := range []string{"append", "truncate"} {
					t.Run(fmt.Sprintf("%s/%s from %d to %d", p.name, how, from, to), func(t *testing.T) {
						dir := newTree(t, p.contents, p.filenames)
						v, done := openTree(t, dir, fs.Options{}, dirstore.Options{})
						old := pattern(from, 1)
						i := create(t, v, "f", old)
						lower := filepath.Join(dir, i.String())
						before, err := os.ReadFile(lower)
						if err != nil {
							t.Fatal(err)
						}
						want := append(bytes.Clone(old), make([]byte, to-from)...)
						if how == "append" {
							copy(want[from:], pattern(to-from, 2))
							_, err = v.WriteAt(i, want[from:], int64(from))
						} else {
							err = v.Truncate(i, int64(to))
						}
						if err != nil {
							t.Fatal(err)
						}
						v.CloseFile(i)
						v.Release(i, 1)
						done()

						after, err := os.ReadFile(lower)
						if err != nil {
							t.Fatal(err)
						}
						const block = 4096
						had := min((len(before)+block-1)/block*block, len(after))
						clear(after[:had])
						copy(after[:had], before)
						if err := os.WriteFile(lower, after, 0o644); err != nil {
							t.Fatal(err)
						}

						v, done = openTree(t, dir, fs.Options{}, dirstore.Options{})
						defer done()
						i, _, err = v.Lookup(v.Root(), "f")
						if err != nil {
							t.Fatal(err)
						}
						defer v.Release(i, 1)
						got := contents(t, v, i)
						for k, b := range got {
							if k < from && b != old[k] || b != want[k] && b != 0 {
								t.Fatalf("byte %d of %d is %#x, want %#x", k, len(got), b, want[k])
							}
						}
					})
				}
			}
		}
	}
}
