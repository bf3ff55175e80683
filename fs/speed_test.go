package fs_test

import (
	"testing"

	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/workqueue"
)

// Only an auto queue makes a volume measure its ciphers, and each driver once.
func TestUnitTime(t *testing.T) {
	for _, p := range testPolicies {
		dir := newTree(t, p.contents, p.filenames)
		for name, q := range queues(t) {
			t.Run(p.name+"/"+name, func(t *testing.T) {
				v, done := openTree(t, dir, fs.Options{Queue: q}, dirstore.Options{})
				defer done()
				a := create(t, v, name+" a", pattern(5000, 1))
				defer v.Release(a, 1)
				defer v.CloseFile(a)
				b := create(t, v, name+" b", pattern(5000, 1))
				defer v.Release(b, 1)
				defer v.CloseFile(b)
				auto := q != nil && q.Attrs().Kind == workqueue.Auto
				if got := a.UnitTime(); got > 0 != auto || b.UnitTime() != got {
					t.Errorf("the data units of two files take %v and %v", got, b.UnitTime())
				}
			})
		}
	}
}
