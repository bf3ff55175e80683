package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRunTarJob(t *testing.T) {
	dir := t.TempDir()
	for name, contents := range map[string]string{"a": "12345", "b\nc": "678"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(contents), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name, in, out string
		err           error
	}{
		{"two files", "a\x00b\nc\x00\x00go", "ready\n8\n", nil},
		{"none", "\x00g", "ready\n0\n", nil},
		{"not wanted any more", "a\x00\x00", "ready\n", nil},
		{"missing", "none\x00\x00g", "ready\n", fs.ErrNotExist},
	} {
		var out bytes.Buffer
		err := runTarJob(strings.NewReader(tt.in), &out, dir)
		if !errors.Is(err, tt.err) || out.String() != tt.out {
			t.Errorf("%s: got %q, %v, want %q, %v", tt.name, out.String(), err, tt.out, tt.err)
		}
	}
	if err := runTarJob(strings.NewReader("a\x00b"), new(bytes.Buffer), dir); err == nil {
		t.Error("no error for a list without an end")
	}
}

// What is called runs on the CPUs that were asked for, and the thread has its own back
// afterwards.
func TestOnCPUs(t *testing.T) {
	own, err := ownCPUs()
	if err != nil {
		t.Fatal(err)
	}
	for _, cpu := range own {
		if err := onCPUs([]int{cpu}, func() error {
			var set unix.CPUSet
			if err := unix.SchedGetaffinity(0, &set); err != nil {
				return err
			}
			if set.Count() != 1 || cpu < 1024 && !set.IsSet(cpu) {
				t.Errorf("not on CPU %d", cpu)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if after, err := ownCPUs(); err != nil || !slices.Equal(after, own) {
		t.Errorf("afterwards: %v, %v, want %v", after, err, own)
	}
	want := errors.New("an error")
	if err := onCPUs(own, func() error { return want }); err != want {
		t.Errorf("got %v", err)
	}
	if err := onCPUs(nil, func() error { return nil }); err == nil {
		t.Error("no error without a CPU")
	}
}
