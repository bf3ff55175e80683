package fs_test

import (
	"testing"

	"encfs/fs"
)

func TestListingsAreShared(t *testing.T) {
	f, v := newFS(t)
	list := func() (*fs.DirEntry, int) {
		t.Helper()
		first, n, err := f.Listing(v.Root())
		if err != nil {
			t.Fatal(err)
		}
		return first, n
	}
	a, before := list()
	if b, _ := list(); a != b {
		t.Error("two openings of an unchanged directory have a listing each")
	}
	i, _, err := v.Mkdir(v.Root(), "new", 0o755, fs.AnyOwner)
	if err != nil {
		t.Fatal(err)
	}
	v.Release(i, 1)
	if _, after := list(); after != before+1 {
		t.Errorf("%d entries after one was made, %d before", after, before)
	}
	if a.Name != "." {
		t.Errorf("the first entry is %q", a.Name)
	}
}
