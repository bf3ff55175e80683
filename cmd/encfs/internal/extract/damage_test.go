package extract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// TestDamagedFiles extracts files of which parts cannot be read.
func TestDamagedFiles(t *testing.T) {
	const units = 3 * partSize / fakeUnit
	data := random(units*fakeUnit - 100)
	for _, tt := range []struct {
		name   string
		bad    []int64
		badMap []int64
		want   string // lost, as first-end
	}{
		{name: "first", bad: []int64{0}, want: "0-4096"},
		{name: "last", bad: []int64{units - 1}, want: fmt.Sprintf("%d-%d", (units-1)*fakeUnit, units*fakeUnit-100)},
		{name: "some", bad: []int64{5, 6, 7, 9, 300}, want: "20480-32768 36864-40960 1228800-1232896"},
		{name: "across parts", bad: []int64{255, 256}, want: "1044480-1052672"},
		{name: "map", badMap: []int64{300}, want: "1228800-1232896"},
		{name: "map and data", bad: []int64{1}, badMap: []int64{2, 767}, want: fmt.Sprintf("4096-12288 %d-%d", 767*fakeUnit, units*fakeUnit-100)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fakeFile(3, data)
			f.bad, f.badMap = map[int64]bool{}, map[int64]bool{}
			want := bytes.Clone(data)
			for _, u := range tt.bad {
				f.bad[u] = true
			}
			for _, u := range tt.badMap {
				f.badMap[u] = true
			}
			for u := range int64(units) {
				if f.bad[u] || f.badMap[u] {
					clear(want[u*fakeUnit : min((u+1)*fakeUnit, int64(len(want)))])
				}
			}
			v := openFake(t, fakeDir(2, fakeEntry{"damaged", f}, fakeEntry{"good", fakeFile(4, []byte("good"))}))

			dest := filepath.Join(t.TempDir(), "dest")
			var told problems
			a, err := Extract(context.Background(), v, []string{"/"}, dest, Options{Report: told.add})
			if err != nil || a.Failed != 1 || a.Files != 1 || len(told) != 1 || !strings.HasPrefix(told[0], "/damaged: ") || !strings.Contains(told[0], "inode 3: ") {
				t.Errorf("got error %v, account %+v, told %q", err, a, told)
			}
			if _, err := os.Lstat(filepath.Join(dest, "damaged")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the damaged file: %v", err)
			}
			noPartials(t, dest)

			dest = filepath.Join(t.TempDir(), "dest")
			told = nil
			a, err = Extract(context.Background(), v, []string{"/"}, dest, Options{Report: told.add, Salvage: true})
			if err != nil || a.Failed != 0 || a.Files != 2 || a.Incomplete != 1 {
				t.Errorf("salvage: got error %v, account %+v", err, a)
			}
			got, err := os.ReadFile(filepath.Join(dest, "damaged"))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("salvage: other contents, %v", err)
			}
			again, err := Extract(context.Background(), v, []string{"/"}, dest, Options{Resume: true, Salvage: true})
			if err != nil || again.Kept != 1 || again.Files != 1 || again.Incomplete != 1 {
				t.Errorf("salvage, resumed: got error %v, account %+v", err, again)
			}
			var lost []string
			for _, line := range told {
				var from, to int64
				if n, err := fmt.Sscanf(line, "/damaged: bytes %d to %d are lost", &from, &to); n != 2 {
					t.Errorf("salvage: %q: %v", line, err)
				}
				lost = append(lost, fmt.Sprintf("%d-%d", from, to+1))
			}
			if got := strings.Join(lost, " "); got != tt.want {
				t.Errorf("salvage: lost %s, want %s", got, tt.want)
			}
		})
	}
}

// TestDamagedMetadata extracts what has damaged attributes, or a directory that cannot
// be read.
func TestDamagedMetadata(t *testing.T) {
	damage := &store.DamagedError{Path: "inode 9", Detail: "bad"}
	file, dir := fakeFile(3, []byte("data")), fakeDir(4)
	file.xattrFail, dir.dirFail = damage, damage
	v := openFake(t, fakeDir(2, fakeEntry{"file", file}, fakeEntry{"dir", dir}))
	dest := filepath.Join(t.TempDir(), "dest")
	var told problems
	a, err := Extract(context.Background(), v, []string{"/"}, dest, Options{Report: told.add})
	if err != nil || a.Failed != 0 || a.Incomplete != 2 || a.Files != 1 || a.Dirs != 2 || len(told) != 2 {
		t.Errorf("got error %v, account %+v, told %q", err, a, told)
	}
	for _, name := range []string{"file", "dir"} {
		if _, err := os.Lstat(filepath.Join(dest, name)); err != nil {
			t.Error(err)
		}
	}
}

// TestDamagedLinks extracts a damaged file with two names: both are missing.
func TestDamagedLinks(t *testing.T) {
	f := fakeFile(3, []byte("data"))
	f.nlink, f.bad = 3, map[int64]bool{0: true}
	v := openFake(t, fakeDir(2, fakeEntry{"a", f}, fakeEntry{"d", fakeDir(4, fakeEntry{"b", f})}, fakeEntry{"c", f}))
	var told problems
	a, err := Extract(context.Background(), v, []string{"/"}, filepath.Join(t.TempDir(), "dest"), Options{Report: told.add})
	if err != nil || a.Failed != 3 || len(told) != 3 {
		t.Errorf("got error %v, account %+v, told %q", err, a, told)
	}
}

// TestFullDisk extracts to a file system without room.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("no small file system: %v", err)
	}
	defer func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	var entries []fakeEntry
	for i := range 40 {
		entries = append(entries, fakeEntry{fmt.Sprintf("f%02d", i), fakeFile(uint64(10+i), random(100_000))})
	}
	v := openFake(t, fakeDir(2, entries...))
	dest := filepath.Join(dir, "dest")
	var told problems
	a, err := Extract(context.Background(), v, []string{"/"}, dest, Options{Report: told.add})
	if d, ok := errors.AsType[*DestinationError](err); !ok || d.Path != dest || !errors.Is(err, unix.ENOSPC) || len(told) > 0 || a.Failed > 0 || a.Bytes != 100_000*a.Files {
		t.Errorf("got error %v, account %+v, told %q", err, a, told)
	}
	noPartials(t, dest)
	left, err := os.ReadDir(dest)
	if err != nil || int64(len(left)) != a.Files || a.Files == 0 || a.Files > 20 {
		t.Errorf("%d files, %v, account %+v", len(left), err, a)
	}
	for _, e := range left {
		if info, err := e.Info(); err != nil || info.Size() != 100_000 {
			t.Errorf("%s: %v", e.Name(), err)
		}
	}
	// With room it goes on.
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT, "size=20m"); err != nil {
		t.Fatal(err)
	}
	b := mustExtract(t, v, []string{"/"}, dest, Options{Resume: true})
	if b.Kept != a.Files || b.Files != 40-a.Files {
		t.Errorf("account %+v after %+v", b, a)
	}
}
