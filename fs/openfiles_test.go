package fs

import "testing"

// TestOpenFilesQueue: what was used least recently goes first, never more than
// the limit stays, and what has gone can come again.
func TestOpenFilesQueue(t *testing.T) {
	o := openFiles{limit: 3}
	inodes := make([]*Inode, 6)
	for k := range inodes {
		inodes[k] = new(Inode)
	}
	drain := func() (gone []int) {
		for i := o.next(); i != nil; i = o.next() {
			i.kept = false // as closeKept does
			for k := range inodes {
				if inodes[k] == i {
					gone = append(gone, k)
				}
			}
		}
		return gone
	}
	for _, step := range []struct {
		name string
		keep []int
		drop int // -1: none
		want []int
	}{
		{"one", []int{0}, -1, nil},
		{"as many as there is room for", []int{1, 2}, -1, nil},
		{"again", []int{0, 1, 2}, -1, nil},
		{"one more", []int{3}, -1, []int{0}}, // all were used, so all get another round
		{"the one that has gone", []int{0}, -1, []int{1}},
		{"used meanwhile", []int{2, 4}, -1, []int{3}},
		{"dropped", []int{5}, 5, nil},
		{"dropped twice", nil, 5, nil},
	} {
		for _, k := range step.keep {
			o.keep(inodes[k])
		}
		if step.drop >= 0 {
			o.drop(inodes[step.drop])
		}
		got := drain()
		if len(got) != len(step.want) || len(got) > 0 && got[0] != step.want[0] {
			t.Errorf("%s: %v closed, want %v", step.name, got, step.want)
		}
		if n := o.queue.Len(); n > o.limit || int64(n) != o.count.Load() {
			t.Errorf("%s: %d are kept, %d counted", step.name, n, o.count.Load())
		}
	}
}
