package test

import (
	"bytes"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestShared mounts a tree twice and lets each side see what the other does.
func TestShared(t *testing.T) {
	a := mountedTree(t, "--shared")
	b := &tree{t: t, cipher: a.cipher, passfile: a.passfile, root: filepath.Join(tempDir(t), "other"), flags: a.flags}
	if err := os.Mkdir(b.root, 0o755); err != nil {
		t.Fatal(err)
	}
	b.mount()
	sides := [2]*tree{a, b}

	for k := range 50 {
		here, there := sides[k%2], sides[(k+1)%2]
		size := edges[k%len(edges)]
		// A new file, a longer one, a shorter one, another by the same name.
		here.plant("file", pattern(size, 1))
		wantFile(t, there.path("file"), pattern(size, 1))
		there.plant("file", pattern(size+5000, 2))
		wantFile(t, here.path("file"), pattern(size+5000, 2))
		if err := os.Truncate(here.path("file"), int64(size/2)); err != nil {
			t.Fatal(err)
		}
		wantFile(t, there.path("file"), pattern(size+5000, 2)[:size/2])
		if err := os.Remove(there.path("file")); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(here.path("file")); !errors.Is(err, iofs.ErrNotExist) {
			t.Errorf("a file that the other side removed: %v", err)
		}

		// A directory that moves.
		dir, moved := fmt.Sprint("dir", k), fmt.Sprint("moved", k)
		if err := os.Mkdir(here.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
		there.plant(filepath.Join(dir, "inside"), []byte("x"))
		if err := os.Rename(here.path(dir), here.path(moved)); err != nil {
			t.Fatal(err)
		}
		wantFile(t, there.path(moved, "inside"), []byte("x"))
		entries, err := os.ReadDir(there.root)
		if err != nil || len(entries) != k+1 {
			t.Errorf("%d entries, %v, want %d", len(entries), err, k+1)
		}
	}
	b.umount()
	a.umount()
}

// TestSharedWriters has two mounts write to one file at the same time, each to
// its own data units, which must not come apart.
func TestSharedWriters(t *testing.T) {
	const units = 256
	a := mountedTree(t, "--shared")
	b := &tree{t: t, cipher: a.cipher, passfile: a.passfile, root: filepath.Join(tempDir(t), "other"), flags: a.flags}
	if err := os.Mkdir(b.root, 0o755); err != nil {
		t.Fatal(err)
	}
	b.mount()
	a.plant("file", make([]byte, units*4096))
	unit := func(k, round int) []byte { return bytes.Repeat([]byte{byte(k), byte(1 + round)}, 2048) }
	const rounds = 4
	var group sync.WaitGroup
	for side, tr := range []*tree{a, b} {
		group.Go(func() {
			f, err := os.OpenFile(tr.path("file"), os.O_RDWR, 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			for round := range rounds {
				for k := side; k < units; k += 2 {
					if _, err := f.WriteAt(unit(k, round), int64(k)*4096); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
		// Who reads finds units of some round. One that is being written may be of two
		// of them, as on the lower file system, whose reads and writes do not exclude
		// each other; AES-XTS decrypts such a unit to the same.
		group.Go(func() {
			f, err := os.Open(tr.path("file"))
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			buf := make([]byte, 4096)
			for k := range units {
				if _, err := unix.Pread(int(f.Fd()), buf, int64(k)*4096); err != nil {
					t.Error(err)
					return
				}
				for at := 0; at < len(buf); at += 2 {
					if who, round := buf[at], buf[at+1]; round > rounds || round > 0 && who != byte(k) || round == 0 && who != 0 {
						t.Errorf("unit %d has %x at %d, which nobody wrote", k, buf[at:at+2], at)
						return
					}
				}
			}
		})
	}
	group.Wait()
	var want []byte
	for k := range units {
		want = append(want, unit(k, rounds-1)...)
	}
	wantFile(t, a.path("file"), want)
	wantFile(t, b.path("file"), want)
	b.umount()
	a.umount()
}
