package extract

import (
	"context"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestSourcePath(t *testing.T) {
	for _, tt := range []struct{ root, want string }{
		{"/", "/a/b"}, {"dir", "dir/a/b"}, {"/x/dir/", "/x/dir/a/b"}, {".", "a/b"},
	} {
		root := source{name: tt.root}
		dir := source{&root, "a"}
		if got := (source{&dir, "b"}).path(); got != tt.want {
			t.Errorf("in %q: got %q, want %q", tt.root, got, tt.want)
		}
	}
	if got := (source{name: "/"}).path(); got != "/" {
		t.Errorf("got %q, want /", got)
	}
}

// TestDeep extracts a tree that is deep and has long names: what the memory for it
// grows with is the depth, not the length of all the paths.
func TestDeep(t *testing.T) {
	const depth, limit = 700, 16 << 20
	name := strings.Repeat("n", 255)
	at := fakeFile(1, nil)
	for n := range depth {
		at = fakeDir(uint64(n+2), fakeEntry{name, at})
	}
	v := openFake(t, at)
	dest := filepath.Join(t.TempDir(), "dest")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	a, err := Extract(context.Background(), v, []string{"/"}, dest, Options{Jobs: 1})
	runtime.ReadMemStats(&after)
	if err != nil || a.Dirs != depth || a.Files != 1 {
		t.Errorf("got error %v, account %+v", err, a)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > limit {
		t.Errorf("%d bytes allocated, of %d at most", got, limit)
	}
}
