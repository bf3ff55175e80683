package main

import (
	"errors"
	"io"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestPrepareFile(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(dir string) error // what is there before
		file string
		want error
	}{
		{"new", nil, "new", nil},
		{"replaceable", writeTo("old", "yes"), "old", nil},
		{"other contents", writeTo("old", "no"), "old", errNotReplaceable},
		{"directory", func(dir string) error { return os.Mkdir(dir+"/d", 0o700) }, "d", errNotReplaceable},
		{"pipe", func(dir string) error { return unix.Mkfifo(dir+"/p", 0o600) }, "p", errNotReplaceable},
		{"link", func(dir string) error {
			return errors.Join(writeTo("old", "yes")(dir), os.Symlink("old", dir+"/link"))
		}, "link", nil},
		{"link to other contents", func(dir string) error {
			return errors.Join(writeTo("old", "no")(dir), os.Symlink("old", dir+"/link"))
		}, "link", errNotReplaceable},
		{"link to a device", func(dir string) error { return os.Symlink("/dev/null", dir+"/link") }, "link", errNotReplaceable},
		{"link to nothing", func(dir string) error { return os.Symlink("none", dir+"/link") }, "link", iofs.ErrNotExist},
		{"no directory", nil, "none/new", iofs.ErrNotExist},
		{"below a file", writeTo("old", "yes"), "old/new", syscall.ENOTDIR},
		{"longest name", nil, strings.Repeat("n", 255), nil},
		{"name too long", nil, strings.Repeat("n", 256), syscall.ENAMETOOLONG},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if tt.make != nil {
				if err := tt.make(dir); err != nil {
					t.Fatal(err)
				}
			}
			before := contentsOf(t, dir)
			f, err := prepareFile(filepath.Join(dir, tt.file), saysYes)
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if after := contentsOf(t, dir); after != before {
				t.Errorf("directory changed from %q to %q", before, after)
			}
			if err != nil {
				if strings.Contains(err.Error(), dir) {
					t.Errorf("error has a path: %v", err)
				}
				return
			}
			if err := f.write(contentOf("new contents")); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(dir, tt.file))
			if err != nil || string(got) != "new contents" {
				t.Errorf("got %q, %v", got, err)
			}
			if info, err := os.Lstat(filepath.Join(dir, tt.file)); tt.name == "link" && (err != nil || info.Mode().IsRegular()) {
				t.Errorf("the link is none any more: %v, %v", info, err)
			}
		})
	}
}

func writeTo(name, text string) func(dir string) error {
	return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600) }
}

func contentOf(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func saysYes(r io.Reader) bool {
	text, err := io.ReadAll(r)
	return err == nil && string(text) == "yes"
}

// contentsOf returns the names and contents of the files in a directory.
func contentsOf(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(e.Name() + " ")
		if e.Type().IsRegular() {
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			b.Write(text)
		}
		b.WriteString("; ")
	}
	return b.String()
}

// A file that could not be written is as it was, and nothing lies beside it.
func TestNewFileFailing(t *testing.T) {
	dir := t.TempDir()
	if err := writeTo("old", "yes")(dir); err != nil {
		t.Fatal(err)
	}
	f, err := prepareFile(dir+"/old", saysYes)
	if err != nil {
		t.Fatal(err)
	}
	for _, fail := range []struct {
		name    string
		content func(io.Writer) error
		want    error
	}{
		{"halfway", func(w io.Writer) error { return errors.Join(contentOf("half")(w), syscall.ENOSPC) }, syscall.ENOSPC},
		{"closed file", func(w io.Writer) error { return w.(*os.File).Close() }, os.ErrClosed},
		{"name gone", func(w io.Writer) error { return os.Remove(w.(*os.File).Name()) }, iofs.ErrNotExist},
	} {
		t.Run(fail.name, func(t *testing.T) {
			if err := f.write(fail.content); !errors.Is(err, fail.want) {
				t.Errorf("got %v, want %v", err, fail.want)
			}
			if got, want := contentsOf(t, dir), "old yes; "; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestNewFileMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new")
	f, err := prepareFile(path, saysYes)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.write(contentOf("")); err != nil {
		t.Fatal(err)
	}
	// What the umask leaves to any other file.
	other := path + "2"
	o, err := os.Create(other)
	if err != nil {
		t.Fatal(err)
	}
	o.Close()
	got, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.Stat(other)
	if err != nil {
		t.Fatal(err)
	}
	if got.Mode() != want.Mode() {
		t.Errorf("got mode %v, want %v", got.Mode(), want.Mode())
	}
}
