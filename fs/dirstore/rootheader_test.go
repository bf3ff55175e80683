package dirstore

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

func TestParseHeader(t *testing.T) {
	h := newHeader(typeDir, testContext, auth)
	for _, tt := range []struct {
		name   string
		change func(b []byte) []byte
		want   any // a pointer for errors.As, nil for none
	}{
		{"sound", func(b []byte) []byte { return b }, nil},
		{"wrong tag", func(b []byte) []byte { b[tagOffset] ^= 1; return b }, nil},
		{"one byte less", func(b []byte) []byte { return b[:len(b)-1] }, new(*store.DamagedError)},
		{"one byte more", func(b []byte) []byte { return append(b, 0) }, new(*store.DamagedError)},
		{"none", func([]byte) []byte { return nil }, new(*store.DamagedError)},
		{"magic number", func(b []byte) []byte { b[0] ^= 1; return b }, new(*store.DamagedError)},
		{"of a file", func(b []byte) []byte { b[9]++; return b }, new(*store.DamagedError)},
		{"newer version", func(b []byte) []byte { b[8]++; return b }, new(*UnsupportedError)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, err := ParseHeader(tt.change(bytes.Clone(h[:])))
			if tt.want != nil {
				if !errors.As(err, tt.want) {
					t.Errorf("error %v, want a %T", err, tt.want)
				}
				return
			}
			if err != nil || !bytes.Equal(ctx, testContext) {
				t.Errorf("context %x, %v", ctx, err)
			}
		})
	}
}

// The header of a root comes back, in its file and in the copy of it, from whatever state.
func TestRestoreRoot(t *testing.T) {
	for _, tt := range []struct {
		name string
		harm func(dir string) error
	}{
		{"sound", func(string) error { return nil }},
		{"no file", func(dir string) error { return os.Remove(filepath.Join(dir, headerName)) }},
		{"no copy", func(dir string) error { return unix.Removexattr(dir, headerXattr) }},
		{"neither", func(dir string) error {
			return errors.Join(unix.Removexattr(dir, headerXattr), os.Remove(filepath.Join(dir, headerName)))
		}},
		{"empty file", func(dir string) error { return cutHeader(dir, 0) }},
		{"long file", func(dir string) error { return cutHeader(dir, headerSize+1) }},
		{"short copy", func(dir string) error { return unix.Setxattr(dir, headerXattr, []byte{1}, 0) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := Create(dir, testContext, auth); err != nil {
				t.Fatal(err)
			}
			want, copied, err := RootHeaders(dir)
			if err != nil || len(want) != headerSize {
				t.Fatalf("header of %d bytes, %v", len(want), err)
			}
			if copied == nil {
				t.Skip("no extended attributes here")
			}
			if !bytes.Equal(copied, want) {
				t.Fatalf("copy %x, want %x", copied, want)
			}
			if err := tt.harm(dir); err != nil {
				t.Fatal(err)
			}
			if err := RestoreRoot(dir, want); err != nil {
				t.Fatal(err)
			}
			if file, copied, err := RootHeaders(dir); err != nil || !bytes.Equal(file, want) || !bytes.Equal(copied, want) {
				t.Errorf("after it\nfile %x\ncopy %x, %v\nwant %x", file, copied, err, want)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
				t.Errorf("left behind: %v, %v", entries, err)
			}
		})
	}
}

func TestRootHeadersFails(t *testing.T) {
	dir := t.TempDir()
	if file, copied, err := RootHeaders(dir); file != nil || copied != nil || err != nil {
		t.Errorf("of an empty directory: %x, %x, %v", file, copied, err)
	}
	if _, _, err := RootHeaders(filepath.Join(dir, "none")); !errors.Is(err, unix.ENOENT) {
		t.Errorf("of a missing one: %v", err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, headerName), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := RootHeaders(dir); !errors.As(err, new(*store.DamagedError)) {
		t.Errorf("of a pipe: %v", err)
	}
}

// cutHeader changes the size of a header, which its owner may not write to.
func cutHeader(dir string, size int64) error {
	name := filepath.Join(dir, headerName)
	return errors.Join(os.Chmod(name, 0o600), os.Truncate(name, size))
}
