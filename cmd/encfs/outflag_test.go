package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOutFlag(t *testing.T) {
	const results = "results"
	for _, tt := range []struct {
		name   string
		make   func(dir string) error // what is there before
		file   string
		report string
		want   string // in the file afterwards
		stdout string
		err    string // that holds this
	}{
		{"none", nil, "", "", "", results, ""},
		{"new", nil, "new", "", results, "", ""},
		{"longer one before", writeTo("old", "something that is longer"), "old", "", results, "", ""},
		{"beside a report", nil, "new", "report", results, "", ""},
		{"the report", nil, "new", "./new", "", "", "the same file"},
		{"directory", func(dir string) error { return os.Mkdir(dir+"/d", 0o700) }, "d", "", "", "", "is a directory"},
		{"no directory", nil, "none/new", "", "", "", "no such file"},
		{"device", func(dir string) error { return os.Symlink("/dev/null", dir+"/null") }, "null", "", "", "", ""},
		{"full device", func(dir string) error { return os.Symlink("/dev/full", dir+"/full") }, "full", "", "", results, "no space left on device: the results are on standard output"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			if tt.make != nil {
				if err := tt.make(dir); err != nil {
					t.Fatal(err)
				}
			}
			out := outFlag{name: tt.file}
			var stdout strings.Builder
			err := out.prepare(reportFlag{name: tt.report})
			if err == nil {
				err = out.write(&stdout, func(w io.Writer) error {
					_, err := io.WriteString(w, results)
					return err
				})
			}
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error: got %v, want %q", err, tt.err)
			}
			if got := stdout.String(); got != tt.stdout {
				t.Errorf("standard output: got %q, want %q", got, tt.stdout)
			}
			if tt.want != "" {
				if got, err := os.ReadFile(tt.file); string(got) != tt.want {
					t.Errorf("file: got %q, %v, want %q", got, err, tt.want)
				}
			}
			if left, _ := filepath.Glob(".encfs-*"); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}

// What cannot be written whole leaves what was there.
func TestOutFlagKeepsOld(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("old", []byte("old results"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := outFlag{name: "old"}
	if err := out.prepare(reportFlag{}); err != nil {
		t.Fatal(err)
	}
	var stdout strings.Builder
	err := out.write(&stdout, func(w io.Writer) error {
		if _, err := io.WriteString(w, "new"); err != nil || w == io.Writer(&stdout) {
			return err
		}
		return unix.ENOSPC
	})
	if !errors.Is(err, unix.ENOSPC) {
		t.Errorf("got %v", err)
	}
	if got, err := os.ReadFile("old"); string(got) != "old results" {
		t.Errorf("file: got %q, %v", got, err)
	}
	if got := stdout.String(); got != "new" {
		t.Errorf("standard output: got %q", got)
	}
}
