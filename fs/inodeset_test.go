package fs

import (
	"math"
	"testing"
)

func TestInodeSet(t *testing.T) {
	var s InodeSet
	for _, dev := range []uint64{0, 1, math.MaxUint64} {
		for _, ino := range []uint64{0, 1, 62, 63, 64, 65, 127, 128, math.MaxUint64} {
			a := Attr{Dev: dev, Ino: ino}
			if !s.Add(a) || s.Add(a) {
				t.Errorf("inode %d of device %d: not new once", ino, dev)
			}
		}
	}
}
