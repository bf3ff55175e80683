package extract

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// TestHostileNames extracts a tree whose names lead elsewhere, come twice or cannot be
// names: none of it leaves the destination, and the rest is there.
func TestHostileNames(t *testing.T) {
	for _, resume := range []bool{false, true} {
		dir := t.TempDir()
		outside := filepath.Join(dir, "outside")
		if err := os.Mkdir(outside, 0o755); err != nil {
			t.Fatal(err)
		}
		evil := func(ino uint64) *fakeNode { return fakeFile(ino, []byte("evil")) }
		loop := fakeDir(30)
		loop.entries = []fakeEntry{{"round", loop}, {"good", evil(31)}}
		root := fakeDir(2,
			fakeEntry{"..", evil(3)}, fakeEntry{".", evil(4)}, fakeEntry{"", evil(5)},
			fakeEntry{"../outside/x", evil(6)}, fakeEntry{"/etc/evil", evil(7)}, fakeEntry{"a\x00b", evil(8)},
			fakeEntry{"dir/..", fakeDir(9, fakeEntry{"x", evil(10)})},
			fakeEntry{strings.Repeat("n", 256), evil(11)},
			fakeEntry{stagingName, fakeDir(12, fakeEntry{"1", evil(13)})},
			// A link, and things that would go through it.
			fakeEntry{"link", fakeLink(14, outside)},
			fakeEntry{"link", fakeDir(15, fakeEntry{"x", evil(16)})},
			fakeEntry{"file", fakeLink(17, filepath.Join(outside, "x"))},
			fakeEntry{"file", evil(18)},
			fakeEntry{"loop", loop}, fakeEntry{"loop again", loop},
			fakeEntry{"nothing", fakeLink(19, "")}, fakeEntry{"nul", fakeLink(20, "a\x00b")},
			fakeEntry{"type", &fakeNode{ino: 21, mode: 0o070644, nlink: 1}},
			fakeEntry{"huge", &fakeNode{ino: 22, mode: store.ModeRegular | 0o644, nlink: 1, size: 1<<63 - 1}},
			fakeEntry{"many names", &fakeNode{ino: 23, mode: store.ModeRegular | 0o644, nlink: 1 << 30}},
			fakeEntry{"fine", evil(24)},
		)
		var told problems
		dest := filepath.Join(dir, "dest")
		a, err := Extract(context.Background(), openFake(t, root), []string{"/"}, dest, Options{Report: told.add, Resume: resume})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for p := range snapDir(t, dir) {
			names = append(names, p)
		}
		slices.Sort(names)
		want := []string{"/", "/dest", "/dest/file", "/dest/fine", "/dest/huge", "/dest/link", "/dest/loop", "/dest/loop/good", "/dest/many names", "/outside"}
		// Of two with a name either may come first.
		names = slices.DeleteFunc(names, func(p string) bool { return p == "/dest/link/x" })
		if _, err := os.Lstat(filepath.Join(dest, "huge")); err != nil { // where files cannot be so long
			want = slices.DeleteFunc(want, func(p string) bool { return p == "/dest/huge" })
		}
		if !slices.Equal(names, want) {
			t.Errorf("resume %v: got %q, want %q", resume, names, want)
		}
		// With Resume one of two files replaces the other.
		if slices.Contains(told, "/file: rename: file exists") == resume || a.Failed < 15 || int(a.Failed) != len(told) {
			t.Errorf("resume %v: account %+v and\n%s", resume, a, strings.Join(told, "\n"))
		}
		noPartials(t, dest)
	}
}

func TestCheckName(t *testing.T) {
	r := &run{staging: &staging{name: stagingName}}
	top := newDirectory(nil, source{}, -1, nil, store.Attr{})
	below := newDirectory(top, source{}, -1, nil, store.Attr{})
	for name, ok := range map[string]bool{
		"": false, ".": false, "..": false, "/": false, "a/b": false, "/a": false, "a/": false, "../a": false, "a\x00": false,
		"...": true, "a": true, "-a": true, " ": true, "\xff": true, "\n": true, "..a": true,
		stagingName: false, stagingName + "x": true,
	} {
		if err := r.checkName(top, name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := r.checkName(below, stagingName); err != nil {
		t.Error(err)
	}
}

// TestPlantedLinks puts symbolic links in the place of what an earlier run has made.
func TestPlantedLinks(t *testing.T) {
	for _, planted := range []string{"d", "d/sub", "d/f", "d/sub/f", stagingName} {
		t.Run(planted, func(t *testing.T) {
			v := openFake(t, fakeDir(2, fakeEntry{"d", fakeDir(3,
				fakeEntry{"f", fakeFile(4, []byte("data"))},
				fakeEntry{"sub", fakeDir(5, fakeEntry{"f", fakeFile(6, []byte("data"))})})}))
			dir := t.TempDir()
			dest, outside := filepath.Join(dir, "dest"), filepath.Join(dir, "outside")
			mustExtract(t, v, []string{"/"}, dest, Options{})
			if err := os.MkdirAll(filepath.Join(outside, "sub"), 0o755); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"f", "sub/f", "1"} {
				if err := os.WriteFile(filepath.Join(outside, name), []byte("precious"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			target := outside
			if filepath.Base(planted) == "f" {
				target = filepath.Join(outside, "f")
			}
			place := filepath.Join(dest, planted)
			if err := os.RemoveAll(place); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, place); err != nil {
				t.Fatal(err)
			}
			before := snapDir(t, outside)
			a, err := Extract(context.Background(), v, []string{"/"}, dest, Options{Resume: true})
			if diff := snapDir(t, outside).diff(before); diff != "" {
				t.Errorf("went outside:\n%s", diff)
			}
			if filepath.Base(planted) == "f" { // which is replaced
				if b, e := os.ReadFile(place); err != nil || e != nil || string(b) != "data" {
					t.Errorf("got %q, %v, %v", b, err, e)
				}
			} else if err == nil && a.Failed == 0 {
				t.Error("nothing was wrong")
			}
		})
	}
}

// TestLinkRace swaps directories of the destination for symbolic links all the time.
func TestLinkRace(t *testing.T) {
	var entries []fakeEntry
	for i := range 200 {
		name := string(rune('a'+i%26)) + string(rune('a'+i/26))
		entries = append(entries, fakeEntry{name, fakeDir(uint64(100+2*i), fakeEntry{"f", fakeFile(uint64(101+2*i), []byte("data"))})})
	}
	v := openFake(t, fakeDir(2, entries...))
	dir := t.TempDir()
	dest, outside := filepath.Join(dir, "dest"), filepath.Join(dir, "outside")
	if err := os.Mkdir(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			place := filepath.Join(dest, entries[i%len(entries)].name)
			if os.Rename(place, filepath.Join(dir, "taken")) == nil {
				os.Symlink(outside, place)
				os.RemoveAll(filepath.Join(dir, "taken"))
			}
		}
	}()
	Extract(context.Background(), v, []string{"/"}, dest, Options{})
	Extract(context.Background(), v, []string{"/"}, dest, Options{Resume: true})
	close(stop)
	<-stopped
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("went outside: %v, %v", left, err)
	}
}

// TestBusy extracts to a destination where another does.
func TestBusy(t *testing.T) {
	dest := t.TempDir()
	partial := filepath.Join(dest, stagingName)
	if err := os.Mkdir(partial, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(partial)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	v := openFake(t, fakeDir(2))
	if _, err := Extract(context.Background(), v, []string{"/"}, dest, Options{Resume: true}); !errors.Is(err, ErrBusy) {
		t.Errorf("got error %v, want ErrBusy", err)
	}
	f.Close()
	if _, err := Extract(context.Background(), v, []string{"/"}, dest, Options{}); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("got error %v, want ErrNotEmpty", err)
	}
	mustExtract(t, v, []string{"/"}, dest, Options{Resume: true})
}
