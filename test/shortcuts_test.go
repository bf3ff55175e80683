package test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"encfs/fs"
)

// status returns what the root of the mount tells of itself.
func (tr *tree) status() (s struct {
	Shortcuts []fs.Shortcut
}) {
	tr.t.Helper()
	buf := make([]byte, 4096)
	n, err := unix.Getxattr(tr.root, fs.StatusXattr, buf)
	if err == nil {
		err = json.Unmarshal(buf[:n], &s)
	}
	if err != nil {
		tr.t.Fatal(err)
	}
	return s
}

// counters returns the counters of the mount.
func (tr *tree) counters() (c struct {
	Requests    map[string]int
	OpenFDs     int `json:"open_fds"`
	FilesStored int `json:"files_stored"`
}) {
	tr.t.Helper()
	if err := json.Unmarshal([]byte(encfs(tr.t, "stats", "--json", tr.root)), &c); err != nil {
		tr.t.Fatal(err)
	}
	return c
}

// TestWithoutShortcuts has a mount that takes each shortcut but one, and one that
// takes none, do what a mount that takes all of them does in the other tests.
func TestWithoutShortcuts(t *testing.T) {
	var names []string
	for _, s := range fs.Shortcuts {
		names = append(names, string(s))
	}
	rows := append(slices.Clone(names), strings.Join(names, ","))
	for _, without := range slices.Compact(rows) {
		t.Run(without, func(t *testing.T) {
			tr := mountedTree(t, "--without", without)
			for _, s := range tr.status().Shortcuts {
				if slices.Contains(strings.Split(without, ","), string(s)) {
					t.Errorf("it takes %s", s)
				}
			}
			runModel(t, tr, *modelSteps/6)
			runPosixTable(t, tr)
		})
	}
}

// TestShortcutsElsewhere: those that are not safe are not taken.
func TestShortcutsElsewhere(t *testing.T) {
	if got := mountedTree(t, "--shared").status().Shortcuts; slices.Contains(got, fs.ShortcutNoOpen) || slices.Contains(got, fs.ShortcutStoreAhead) {
		t.Errorf("with --shared: %v", got)
	}
	want := slices.DeleteFunc(slices.Clone(fs.Shortcuts), func(s fs.Shortcut) bool {
		return s == fs.ShortcutReadAhead && os.Geteuid() != 0
	})
	if got := mountedTree(t).status().Shortcuts; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestFewOpenFiles lets a server have few descriptors, so that it closes files
// that programs have open, and opens them again, those without a name among them.
func TestFewOpenFiles(t *testing.T) {
	const files, limit = 100, 64
	needFUSE(t)
	tr := newTree(t)
	tr.maxFiles = limit
	tr.mount()
	var open [files]*os.File
	for k := range open {
		f, err := os.OpenFile(tr.path(fmt.Sprint(k)), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		open[k] = f
		if _, err := f.Write(pattern(100*k, 1)); err != nil {
			t.Fatal(err)
		}
	}
	// Each in another way without the name that it had.
	for k := range 12 {
		var err error
		switch name := tr.path(fmt.Sprint(k)); k % 3 {
		case 0:
			err = os.Remove(name)
		case 1:
			err = os.Rename(tr.plant("other", pattern(7, 7)), name)
		case 2:
			err = errors.Join(os.Chmod(name, 0), os.Rename(name, name+"-moved"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for round := range 2 {
		for k, f := range open {
			want := pattern(100*k, byte(1+round))
			got, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
			if err != nil {
				t.Fatal(err)
			}
			sameBytes(t, f.Name(), got, want)
			if _, err := f.WriteAt(pattern(100*k, byte(2+round)), 0); err != nil {
				t.Fatal(err)
			}
			if k < 12 && k%3 != 2 {
				var st unix.Stat_t
				if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Nlink != 0 {
					t.Errorf("%s: %d links, %v", f.Name(), st.Nlink, err)
				}
			}
		}
	}
	if n := tr.counters().OpenFDs; n >= limit {
		t.Errorf("%d descriptors are open", n)
	}
}

// TestNoOpen: the kernel asks for what it has to know, and no more.
func TestNoOpen(t *testing.T) {
	tr := mountedTree(t)
	os.ReadFile(tr.plant("first", pattern(5000, 1))) // which lets the kernel know
	before := tr.counters().Requests
	for k := range 20 {
		p := tr.plant(fmt.Sprint("file", k), pattern(5000, 1))
		wantFile(t, p, pattern(5000, 1))
	}
	after := tr.counters().Requests
	for _, op := range []string{"OPEN", "RELEASE", "FLUSH"} {
		if n := after[op] - before[op]; n != 0 {
			t.Errorf("%d more %s", n, op)
		}
	}
	// What was open has been written when it is read by another way.
	wantFile(t, filepath.Join(tr.root, "file0"), pattern(5000, 1))
}
