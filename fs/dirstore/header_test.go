package dirstore

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// The bytes are written down from the table in the format; the tag is
// HMAC-SHA-256 of the first 64 with the key "key", by Python's hmac module.
func TestHeaderBytes(t *testing.T) {
	want := "656e6366736f626a" + "01" + "02" + "0c" + "00" + "00000000" +
		strings.Repeat("636f6e7465787421", 5) + strings.Repeat("00", 8) +
		headerTag + strings.Repeat("00", 32)
	h := newHeader(typeDir, testContext, auth)
	if got := hex.EncodeToString(h[:]); got != want {
		t.Errorf("newHeader:\n got %s\nwant %s", got, want)
	}
	if bad := h.check(typeDir); bad != nil {
		t.Errorf("check: %+v", bad)
	}
	if !h.verify(auth) || h.verify(testAuth("another key")) {
		t.Error("verify")
	}
}

// Every byte of a header counts, except the reserved 32 at its end.
func TestHeaderDamage(t *testing.T) {
	for i := range headerSize {
		h := newHeader(typeFile, testContext, auth)
		h[i] ^= 0x10
		good := h.check(typeFile) == nil && h.verify(auth)
		if good != (i >= 96) {
			t.Errorf("with byte %d changed the header is good: %v", i, good)
		}
	}
}

func TestHeaderErrors(t *testing.T) {
	for _, v := range []struct {
		name    string
		change  func(h *header)
		feature string // of the UnsupportedError; a DamagedError if empty
	}{
		{"magic", func(h *header) { h[0] = 'E' }, ""},
		{"version", func(h *header) { h[8] = 2 }, "format version 2"},
		{"type", func(h *header) { h[9] = typeFile + typeDir - h[9] }, ""},
		{"body", func(h *header) { h[10] = 16 }, "body at offset 2^16"},
		{"feature", func(h *header) { h[12] = 1 }, "feature bit 0"},
		{"last feature", func(h *header) { h[15] = 0x80 }, "feature bit 31"},
		{"tag", func(h *header) { h[64] ^= 1 }, ""},
		{"context", func(h *header) { h[30] ^= 1 }, ""},
	} {
		t.Run(v.name, func(t *testing.T) {
			check := func(what, path string, err error) {
				t.Helper()
				var damaged *store.DamagedError
				var unsupported *UnsupportedError
				switch {
				case v.feature == "" && (!errors.As(err, &damaged) || damaged.Path != path):
					t.Errorf("%s: got %v, want a DamagedError for %s", what, err, path)
				case v.feature != "" && (!errors.As(err, &unsupported) || unsupported.Path != path || unsupported.Feature != v.feature):
					t.Errorf("%s: got %v, want an UnsupportedError for %s with %s", what, err, path, v.feature)
				}
			}
			dir := newTree(t)
			s := open(t, dir, Options{})
			file, f := create(t, s, s.Root(), testName("file"))
			f.SetContext(testContext)
			must(t, f.WriteInline(make([]byte, 16), 3))
			must(t, f.Close())
			sub := mkdir(t, s, s.Root(), testName("directory"))
			s.Release(sub, 1)
			change := func(path string) {
				t.Helper()
				b, err := os.ReadFile(path)
				must(t, err)
				v.change((*header)(b))
				must(t, os.Chmod(path, 0o600))
				must(t, os.WriteFile(path, b, 0))
			}
			change(filepath.Join(dir, lower(testName("file"))))
			_, err := s.Open(file, false)
			check("Open of a file", lower(testName("file")), err)
			must(t, s.Unlink(s.Root(), testName("file")))

			change(filepath.Join(dir, lower(testName("directory")), headerName))
			sub = lookup(t, s, s.Root(), testName("directory"))
			_, err = s.Context(sub)
			check("Context", lower(testName("directory"))+"/"+headerName, err)
			must(t, s.Rmdir(s.Root(), testName("directory")))

			change(filepath.Join(dir, headerName))
			o, err := Open(dir, Options{})
			if err == nil {
				err = o.Unlock(auth)
				o.Close()
			}
			check("Open", headerName, err)
		})
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for name, header := range map[string]string{"empty header": "", "short header": "encfsobj", "other header": strings.Repeat("x", 128)} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, name, headerName), []byte(header), 0o600))
	}
	must(t, os.Mkdir(filepath.Join(dir, "plain"), 0o700))
	must(t, os.MkdirAll(filepath.Join(dir, "directory as header", headerName), 0o700))
	must(t, os.Mkdir(filepath.Join(dir, "fifo"), 0o700))
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo", headerName), 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "symlink"), 0o700))
	must(t, os.Symlink(filepath.Join(newTree(t), headerName), filepath.Join(dir, "symlink", headerName)))
	damaged := func(err error) bool { return errors.As(err, new(*store.DamagedError)) }
	is := func(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }
	for _, v := range []struct {
		name string
		want func(error) bool
	}{
		{"none", is(os.ErrNotExist)},
		{"file", is(unix.ENOTDIR)},
		{"plain", is(ErrNotCipherDir)},
		{"empty header", damaged},
		{"short header", damaged},
		{"other header", damaged},
		{"directory as header", damaged},
		{"fifo", damaged},
		{"symlink", damaged},
	} {
		if s, err := Open(filepath.Join(dir, v.name), Options{}); !v.want(err) {
			t.Errorf("Open with %s: %v, %v", v.name, s, err)
		}
	}
}

func TestCreate(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, metadataName), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, tempPrefix+"left by a crash"), nil, 0o600))
	must(t, Create(dir, testContext, auth))
	entries, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != headerName+" "+metadataName {
		t.Errorf("Create leaves %s", got)
	}
	h := newHeader(typeDir, testContext, auth)
	if got, err := os.ReadFile(filepath.Join(dir, headerName)); err != nil || !bytes.Equal(got, h[:]) {
		t.Errorf("the header is %x, error %v", got, err)
	}
	if err := Create(dir, testContext, auth); !errors.Is(err, unix.EEXIST) {
		t.Errorf("Create again: %v", err)
	}
	full := t.TempDir()
	must(t, os.WriteFile(filepath.Join(full, "file"), nil, 0o600))
	if err := Create(full, testContext, auth); !errors.Is(err, unix.ENOTEMPTY) {
		t.Errorf("Create in a directory that is not empty: %v", err)
	}
	if err := Create(filepath.Join(full, "none"), testContext, auth); !errors.Is(err, unix.ENOENT) {
		t.Errorf("Create in nothing: %v", err)
	}
	s := open(t, dir, Options{})
	defer s.Close()
	if got := s.RootContext(); !bytes.Equal(got, testContext) {
		t.Errorf("RootContext: %x", got)
	}
	if err := s.Unlock(testAuth("another key")); !errors.As(err, new(*store.DamagedError)) {
		t.Errorf("Unlock with another key: %v", err)
	}
}

func FuzzHeader(f *testing.F) {
	h := newHeader(typeFile, testContext, auth)
	f.Add(h[:])
	f.Add(make([]byte, headerSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		var h header
		copy(h[:], b)
		for _, typ := range []byte{typeFile, typeDir} {
			bad := h.check(typ)
			if bad != nil && (bad.damage == "") == (bad.feature == "") {
				t.Errorf("check says %+v", bad)
			}
			if bad == nil && h.verify(auth) {
				want := newHeader(typ, h.context(), auth)
				copy(want[96:], h[96:])
				if h != *want {
					t.Errorf("verify takes\n%x for\n%x", h, *want)
				}
			}
		}
	})
}

const headerTag = "4f5969ce50776f11b06462dc5c2b8f01428b1a52a8dddb7cf191bfb955bf7cce"
