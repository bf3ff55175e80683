package extract

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCipherDirectory(t *testing.T) {
	v := newVolume(t)
	buildTree(t, v)
	want := snapVolume(t, v, "/")
	for _, jobs := range []int{1, 2, 16} {
		dest := filepath.Join(t.TempDir(), "dest")
		writable(t, dest)
		var files, bytes atomic.Int64
		a := mustExtract(t, v, []string{"/"}, dest, Options{Jobs: jobs, Progress: func(f, b int64) { files.Add(f); bytes.Add(b) }})
		if diff := snapDir(t, dest).diff(want); diff != "" {
			t.Errorf("%d jobs:\n%s", jobs, diff)
		}
		if a.Files != 16 || a.Dirs != 4 || a.Symlinks != 2 || a.Special != 2 || a.Links != 3 || a.Kept != 0 {
			t.Errorf("%d jobs: account %+v", jobs, a)
		}
		if n := a.Files + a.Symlinks + a.Special + a.Links; files.Load() != n || bytes.Load() != a.Bytes {
			t.Errorf("%d jobs: progress of %d files with %d bytes, account %+v", jobs, files.Load(), bytes.Load(), a)
		}
		var st unix.Stat_t
		if err := unix.Lstat(filepath.Join(dest, "a/b/only a hole"), &st); err != nil || st.Blocks > 8 {
			t.Errorf("a file of holes takes %d blocks, %v", st.Blocks, err)
		}
		if err := unix.Lstat(filepath.Join(dest, "a/b/holes"), &st); err != nil || st.Blocks*512 > 4<<20 {
			t.Errorf("a file with holes takes %d blocks, %v", st.Blocks, err)
		}
	}
}

func TestMeasure(t *testing.T) {
	v := newVolume(t)
	buildTree(t, v)
	var files, bytes int64
	Measure(context.Background(), v, []string{"/a", "/third", "/none"}, func(f, b int64) { files += f; bytes += b })
	if files != 20 || bytes < 9<<20 || bytes > 40<<20 {
		t.Errorf("got %d files with %d bytes", files, bytes)
	}
}

// TestPlaces checks where copies go.
func TestPlaces(t *testing.T) {
	v := newVolume(t)
	b := builder{t, v}
	b.dir("/d")
	b.dir("/d/sub")
	for _, p := range []string{"/f", "/d/f", "/d/g"} {
		b.file(p, 3, map[int64][]byte{0: []byte("abc")})
	}
	for _, tt := range []struct {
		name   string
		before []string // made first, directories with a slash at the end
		paths  []string
		dest   string
		resume bool
		want   []string // that are there then
		err    error
	}{
		{name: "directory", paths: []string{"/d"}, dest: "new", want: []string{"new/f", "new/g", "new/sub"}},
		{name: "directory into an empty one", before: []string{"new/"}, paths: []string{"d"}, dest: "new", want: []string{"new/f"}},
		{name: "directory into one that is not empty", before: []string{"new/", "new/x"}, paths: []string{"d"}, dest: "new", err: ErrNotEmpty},
		{name: "directory, resumed", before: []string{"new/", "new/x"}, paths: []string{"d"}, dest: "new", resume: true, want: []string{"new/f", "new/x"}},
		{name: "directory over a file", before: []string{"new"}, paths: []string{"d"}, dest: "new", err: unix.ENOTDIR},
		{name: "directory below nothing", paths: []string{"d"}, dest: "none/new", err: unix.ENOENT},
		{name: "root", paths: []string{"/"}, dest: "new", want: []string{"new/d/f", "new/f"}},
		{name: "file", paths: []string{"/d/f"}, dest: "new", want: []string{"new"}},
		{name: "file with a slash behind", paths: []string{"d/f/"}, dest: "new/", want: []string{"new"}},
		{name: "file into a directory", before: []string{"new/", "new/x"}, paths: []string{"/d/f"}, dest: "new", want: []string{"new/f", "new/x"}},
		{name: "file over a file", before: []string{"new"}, paths: []string{"/d/f"}, dest: "new", err: unix.EEXIST},
		{name: "file over a file in a directory", before: []string{"new/", "new/f"}, paths: []string{"/d/f"}, dest: "new", err: unix.EEXIST},
		{name: "file over a file, resumed", before: []string{"new"}, paths: []string{"/d/f"}, dest: "new", resume: true, want: []string{"new"}},
		{name: "file below nothing", paths: []string{"/d/f"}, dest: "none/new", err: unix.ENOENT},
		{name: "several", paths: []string{"/d", "f"}, dest: "new", want: []string{"new/d/f", "new/d/sub", "new/f"}},
		{name: "one in the other", paths: []string{"/d", "/d/sub"}, dest: "new", want: []string{"new/d/sub", "new/d/f", "new/sub"}},
		{name: "several into one that is not empty", before: []string{"new/", "new/x"}, paths: []string{"/d", "f"}, dest: "new", err: ErrNotEmpty},
		{name: "several over a file", before: []string{"new"}, paths: []string{"/d", "f"}, dest: "new", err: unix.ENOTDIR},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, p := range tt.before {
				var err error
				if name := filepath.Join(dir, p); p[len(p)-1] == '/' {
					err = os.Mkdir(name, 0o755)
				} else {
					err = os.WriteFile(name, []byte("before"), 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			before := snapDir(t, dir)
			_, err := Extract(context.Background(), v, tt.paths, filepath.Join(dir, tt.dest), Options{Resume: tt.resume})
			if !errors.Is(err, tt.err) {
				t.Errorf("got error %v, want %v", err, tt.err)
			}
			if tt.err != nil {
				if _, ok := errors.AsType[*DestinationError](err); !ok {
					t.Errorf("got %#v, want a DestinationError", err)
				}
				if diff := snapDir(t, dir).diff(before); diff != "" {
					t.Errorf("changed:\n%s", diff)
				}
			}
			for _, p := range tt.want {
				if st, err := os.Lstat(filepath.Join(dir, p)); err != nil || st.Mode().IsRegular() && filepath.Base(p) != "x" && st.Size() != 3 {
					t.Errorf("%s: %v", p, err)
				}
			}
			noPartials(t, filepath.Join(dir, tt.dest))
		})
	}
	for _, paths := range [][]string{{"/none"}, {"/d/f", "/f"}, {"/d", "/"}, {"/d", "/d"}} {
		dest := filepath.Join(t.TempDir(), "new")
		_, err := Extract(context.Background(), v, paths, dest, Options{})
		if _, ok := errors.AsType[*SourceError](err); !ok {
			t.Errorf("%q: got error %v, want a SourceError", paths, err)
		}
		if _, err := os.Lstat(dest); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q: the destination was made: %v", paths, err)
		}
	}
}
