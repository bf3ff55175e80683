package fs_test

import (
	"bytes"
	"fmt"
	"testing"

	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/keys"
)

// TestWritesByQueues writes through each queue, around the size from which it takes
// part, and reads without one.
func TestWritesByQueues(t *testing.T) {
	const unit = 4096
	units := fs.ItemSize / unit
	for name, q := range queues(t) {
		t.Run(name, func(t *testing.T) {
			dir := newTree(t, keys.AES256XTS, keys.AES256CTS)
			v, done := openTree(t, dir, fs.Options{Queue: q}, dirstore.Options{})
			want := map[string][]byte{}
			for _, size := range []int{unit, units*unit - 1, units * unit, units*unit + 1, (units + 1) * unit, 256 * unit, 600*unit + 77} {
				for _, off := range []int{0, 100, 3 * unit} {
					name := fmt.Sprint(size, "at", off)
					i := create(t, v, name, nil)
					if n, err := v.WriteAt(i, pattern(size, 3), int64(off)); n != size || err != nil {
						t.Fatalf("%s: %d, %v", name, n, err)
					}
					want[name] = append(make([]byte, off), pattern(size, 3)...)
					v.CloseFile(i)
					v.Release(i, 1)
				}
			}
			done()
			v, _ = openTree(t, dir, fs.Options{}, dirstore.Options{})
			for name, data := range want {
				i, _, err := v.Walk(name)
				if err != nil {
					t.Fatal(err)
				}
				var got bytes.Buffer
				if err := v.ReadFile(i, &got); err != nil || !bytes.Equal(got.Bytes(), data) {
					t.Errorf("%s: %d bytes, %v, want %d, or other ones", name, got.Len(), err, len(data))
				}
				v.Release(i, 1)
			}
		})
	}
}
