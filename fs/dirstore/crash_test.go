package dirstore

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// The states that a crash can leave are made here by hand: those between any
// two lower system calls, and files whose contents did not reach the disk.

// logTo returns a logger and what it has logged.
func logTo() (*slog.Logger, *bytes.Buffer) {
	var b bytes.Buffer
	return slog.New(slog.NewTextHandler(&b, nil)), &b
}

// TestLostHeader is what becomes of a directory whose header is gone, or not
// there yet.
func TestLostHeader(t *testing.T) {
	for _, v := range []struct {
		name     string
		change   func(t *testing.T, dir string)
		good     bool // Context works
		restored bool
	}{
		{"missing", func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, headerName))) }, true, true},
		{"empty", func(t *testing.T, dir string) { truncate(t, filepath.Join(dir, headerName), 0) }, true, true},
		{"short", func(t *testing.T, dir string) { truncate(t, filepath.Join(dir, headerName), 127) }, true, true},
		{"missing without copy", func(t *testing.T, dir string) {
			must(t, os.Remove(filepath.Join(dir, headerName)))
			unix.Removexattr(dir, headerXattr)
		}, false, false},
		{"missing with a damaged copy", func(t *testing.T, dir string) {
			must(t, os.Remove(filepath.Join(dir, headerName)))
			must(t, unix.Setxattr(dir, headerXattr, make([]byte, headerSize), 0))
		}, false, false},
		{"missing with a short copy", func(t *testing.T, dir string) {
			must(t, os.Remove(filepath.Join(dir, headerName)))
			must(t, unix.Setxattr(dir, headerXattr, make([]byte, 3), 0))
		}, false, false},
		{"wrong, with a good copy", func(t *testing.T, dir string) {
			// Not what a crash leaves: nothing is repaired without asking.
			must(t, os.Remove(filepath.Join(dir, headerName)))
			must(t, os.WriteFile(filepath.Join(dir, headerName), make([]byte, headerSize), 0o444))
		}, false, false},
	} {
		for _, readOnly := range []bool{false, true} {
			t.Run(v.name, func(t *testing.T) {
				dir := newTree(t)
				needXattrs(t, dir)
				log, logged := logTo()
				s := open(t, dir, Options{})
				s.Release(mkdir(t, s, s.Root(), testName("directory")), 1)
				must(t, s.Close())
				path := filepath.Join(dir, lower(testName("directory")))
				v.change(t, path)

				s = open(t, dir, Options{ReadOnly: readOnly, Log: log})
				defer s.Close()
				n := lookup(t, s, s.Root(), testName("directory"))
				context, err := s.Context(n)
				if v.good != (err == nil && bytes.Equal(context, testContext)) || !v.good && !errors.As(err, new(*store.DamagedError)) {
					t.Errorf("Context: %x, error %v", context, err)
				}
				b, err := os.ReadFile(filepath.Join(path, headerName))
				h := newHeader(typeDir, testContext, auth)
				if restored := err == nil && bytes.Equal(b, h[:]); restored != (v.restored && !readOnly) {
					t.Errorf("the header is back: %v", restored)
				}
				if v.good && !strings.Contains(logged.String(), lower(testName("directory"))+"/"+headerName) {
					t.Errorf("logged: %s", logged)
				}
				if !readOnly {
					must(t, s.Rmdir(s.Root(), testName("directory")))
				}
			})
		}
	}
}

func needXattrs(t *testing.T, dir string) {
	if err := unix.Setxattr(dir, "user.test", nil, 0); err != nil {
		t.Skipf("no user attributes in %s: %v", dir, err)
	}
}

func truncate(t *testing.T, path string, size int64) {
	t.Helper()
	must(t, os.Chmod(path, 0o600))
	must(t, os.Truncate(path, size))
}

// TestLeavings puts into a directory what crashes leave there, and other
// things, and removes the directory.
func TestLeavings(t *testing.T) {
	h := newHeader(typeDir, testContext, auth)
	long := lower(longName("name"))
	file := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
			must(t, os.WriteFile(filepath.Join(dir, name), h[:], 0o444))
		}
	}
	directory := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) { must(t, os.Mkdir(filepath.Join(dir, name), 0)) }
	}
	for _, v := range []struct {
		name      string
		make      func(t *testing.T, dir string)
		removable bool
		shared    bool // and so in a tree that others change too, where it may be in use
	}{
		{"nothing", func(*testing.T, string) {}, true, true},
		{"temporary header", file(tempPrefix + "a"), true, false},
		{"temporary directory without header", directory(tempPrefix + "a"), true, false},
		{"temporary directory with header", file(tempPrefix + "a/" + headerName), true, false},
		{"temporary directory with something in it", file(tempPrefix + "a/file"), false, false},
		{"orphan sidecar", file(long + sidecarSuffix), true, false},
		{"no header", func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, headerName))) }, true, true},
		{"object", file(lower(testName("file"))), false, false},
		{"long object without sidecar", file(long), false, false},
		{"name that does not decode", file("x"), false, false},
		{"file of another program", file(".DS_Store"), false, false},
		{"metadata where it is not ours", file(metadataName), false, false},
	} {
		for _, shared := range []bool{false, true} {
			t.Run(v.name, func(t *testing.T) {
				dir := newTree(t)
				log, logged := logTo()
				s := open(t, dir, Options{Shared: shared, Log: log})
				defer s.Close()
				n := mkdir(t, s, s.Root(), testName("directory"))
				defer s.Release(n, 1)
				path := filepath.Join(dir, lower(testName("directory")))
				v.make(t, path)
				want := listTree(t, path)
				err := s.Rmdir(s.Root(), testName("directory"))
				if shared && v.shared || !shared && v.removable {
					must(t, err)
					if got := listTree(t, dir); got != headerName {
						t.Errorf("left: %s", got)
					}
					return
				}
				if !errors.Is(err, unix.ENOTEMPTY) {
					t.Errorf("Rmdir: %v", err)
				}
				if got := listTree(t, path); got != want {
					t.Errorf("Rmdir changes %s to %s", want, got)
				}
				seen := v.name == "object" || shared && v.removable || v.name == "temporary directory with something in it"
				if !seen && !strings.Contains(logged.String(), "keeps its directory from being removed") && v.name != "long object without sidecar" {
					t.Errorf("logged: %s", logged)
				}
				if n != lookup(t, s, s.Root(), testName("directory")) {
					t.Error("the directory is another node")
				}
				s.Release(n, 1)
			})
		}
	}
}

// listTree returns the paths of everything in a directory.
func listTree(t *testing.T, dir string) string {
	t.Helper()
	var paths []string
	must(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if errors.Is(err, os.ErrPermission) {
			return nil
		}
		if path != dir && err == nil {
			paths = append(paths, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	}))
	return strings.Join(paths, " ")
}

// TestSidecars is creation over what a crash has left of a sidecar, and listing
// with bad ones.
func TestSidecars(t *testing.T) {
	name := longName("name")
	object := lower(name)
	for _, v := range []struct {
		name string
		make func(t *testing.T, sidecar string)
	}{
		{"orphan", func(t *testing.T, sidecar string) { must(t, os.WriteFile(sidecar, name, 0o444)) }},
		{"empty", func(t *testing.T, sidecar string) { must(t, os.WriteFile(sidecar, nil, 0o444)) }},
		{"other name", func(t *testing.T, sidecar string) { must(t, os.WriteFile(sidecar, longName("other"), 0o444)) }},
		{"huge", func(t *testing.T, sidecar string) {
			must(t, os.WriteFile(sidecar, name, 0o644))
			must(t, os.Truncate(sidecar, 1<<30))
		}},
		{"symlink", func(t *testing.T, sidecar string) { must(t, os.Symlink("/dev/zero", sidecar)) }},
		{"fifo", func(t *testing.T, sidecar string) { must(t, unix.Mkfifo(sidecar, 0o600)) }},
	} {
		t.Run(v.name, func(t *testing.T) {
			dir := newTree(t)
			s := open(t, dir, Options{})
			defer s.Close()
			sidecar := filepath.Join(dir, object+sidecarSuffix)
			v.make(t, sidecar)
			if entries, err := s.ReadDir(s.Root()); err != nil || len(entries) != 0 {
				t.Errorf("ReadDir with an orphan: %v, error %v", entries, err)
			}
			n, f := create(t, s, s.Root(), name)
			must(t, f.Close())
			if got, err := os.ReadFile(sidecar); err != nil || !bytes.Equal(got, name) {
				t.Errorf("the sidecar is %q, error %v", got, err)
			}
			must(t, os.Remove(sidecar))
			if v.name != "orphan" {
				v.make(t, sidecar)
				entries, err := s.ReadDir(s.Root())
				if err != nil || len(entries) != 1 || entries[0].Err == nil || entries[0].Name != nil || entries[0].Lower != object {
					t.Errorf("ReadDir with a bad sidecar: %+v, error %v", entries, err)
				}
			}
			// The name can be looked up and removed even so.
			if lookup(t, s, s.Root(), name) != n {
				t.Error("Lookup gives another node")
			}
			must(t, s.Unlink(s.Root(), name))
			if got := listTree(t, dir); got != headerName {
				t.Errorf("left: %s", got)
			}
			s.Release(n, 2)
		})
	}
}

// TestStaleTail is a file that was shrunk and whose tail was not set to zero
// any more. Nothing of it may come up in the holes of the growing file.
func TestStaleTail(t *testing.T) {
	for _, v := range []struct {
		name string
		grow func(t *testing.T, f store.FileWriter)
	}{
		{"truncate by units", func(t *testing.T, f store.FileWriter) { must(t, f.Truncate(50000)) }},
		{"truncate inside the unit", func(t *testing.T, f store.FileWriter) {
			must(t, f.Truncate(6000))
			must(t, f.Truncate(50000))
		}},
		{"write behind", func(t *testing.T, f store.FileWriter) {
			_, err := f.WriteUnits(units(1, 9), 8, 9*unitSize-1)
			must(t, err)
		}},
		{"reload, write behind", func(t *testing.T, f store.FileWriter) {
			must(t, f.Reload())
			_, err := f.WriteUnits(units(1, 9), 8, 9*unitSize-1)
			must(t, err)
		}},
	} {
		t.Run(v.name, func(t *testing.T) {
			dir := newTree(t)
			s := open(t, dir, Options{})
			defer s.Close()
			n, f := create(t, s, s.Root(), testName("file"))
			f.SetContext(testContext)
			_, err := f.WriteUnits(units(4, 1), 0, 4*unitSize)
			must(t, err)
			must(t, f.Close())
			must(t, os.Truncate(filepath.Join(dir, lower(testName("file"))), lowerSize(store.LayoutBlocks, 5000)))
			g, err := s.Open(n, true)
			must(t, err)
			v.grow(t, g.(store.FileWriter))
			for i, u := range readAll(t, g).units {
				if want := i < 2 || i == 8 && bytes.Equal(u, units(1, 9)); (u != nil) != want {
					t.Errorf("unit %d is a hole: %v", i, u == nil)
				}
			}
			must(t, g.Close())
			s.Release(n, 1)
		})
	}
}

// TestLowerBytes compares lower files with the format, worked out by hand.
func TestLowerBytes(t *testing.T) {
	h := newHeader(typeFile, testContext, auth)
	zeros := func(n int) []byte { return make([]byte, n) }
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for _, v := range []struct {
		name  string
		write func(t *testing.T, f store.FileWriter)
		want  []byte
	}{
		{"empty", func(t *testing.T, f store.FileWriter) {}, nil},
		{"inline", func(t *testing.T, f store.FileWriter) {
			must(t, f.WriteInline(units(1, 7)[:32], 20))
		}, join(h[:], units(1, 7)[:32], zeros(4))},
		{"blocks", func(t *testing.T, f store.FileWriter) {
			_, err := f.WriteUnits(units(1, 7), 0, 20)
			must(t, err)
		}, join(h[:], zeros(3968), units(1, 7), zeros(20))},
		{"from inline to blocks", func(t *testing.T, f store.FileWriter) {
			must(t, f.WriteInline(units(1, 7)[:16], 16))
			_, err := f.WriteUnits(units(2, 8), 0, 8192)
			must(t, err)
		}, join(h[:], units(1, 7)[:16], zeros(3952), units(2, 8))},
		{"from blocks to inline", func(t *testing.T, f store.FileWriter) {
			_, err := f.WriteUnits(units(2, 8), 0, 8192)
			must(t, err)
			must(t, f.WriteInline(units(1, 7)[:16], 15))
		}, join(h[:], units(1, 7)[:16], zeros(15))},
		{"shrunk", func(t *testing.T, f store.FileWriter) {
			_, err := f.WriteUnits(units(3, 8), 0, 3*unitSize)
			must(t, err)
			must(t, f.Truncate(4099))
		}, join(h[:], zeros(3968), units(2, 8), zeros(3))},
		{"grown", func(t *testing.T, f store.FileWriter) {
			must(t, f.Truncate(4099))
		}, join(h[:], zeros(3968), zeros(8192), zeros(3))},
	} {
		t.Run(v.name, func(t *testing.T) {
			dir := newTree(t)
			s := open(t, dir, Options{})
			defer s.Close()
			n, f := create(t, s, s.Root(), testName("file"))
			f.SetContext(testContext)
			v.write(t, f)
			for _, when := range []string{"open", "closed"} {
				if got, err := os.ReadFile(filepath.Join(dir, lower(testName("file")))); err != nil || !bytes.Equal(got, v.want) {
					t.Errorf("%s: %d bytes %.200x, error %v\nwant %d bytes %.200x", when, len(got), got, err, len(v.want), v.want)
				}
				if when == "open" {
					must(t, f.Close())
				}
			}
			s.Release(n, 1)
		})
	}
}
