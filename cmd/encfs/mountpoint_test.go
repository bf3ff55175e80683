package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCheckMountPoint(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"secret/in", "plain", "full/x", "above/secret"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"toplain": "plain", "toin": "secret/in", "broken": "none", "tosecret": "secret"} {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	here, err := filepath.EvalSymlinks(".")
	if err == nil {
		here, err = filepath.Abs(here)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, point, source string
		nonEmpty            bool
		want, err           string
	}{
		{name: "empty directory", point: "plain", source: "secret", want: "plain"},
		{name: "symbolic link", point: "toplain", source: "secret", want: "plain"},
		{name: "trailing slash", point: "plain/", source: "secret/", want: "plain"},
		{name: "missing", point: "none", source: "secret", err: "mount point none does not exist"},
		{name: "broken link", point: "broken", source: "secret", err: "mount point broken does not exist"},
		{name: "file", point: "file", source: "secret", err: "mount point file is not a directory"},
		{name: "below a file", point: "file/x", source: "secret", err: "not a directory"},
		{name: "not empty", point: "full", source: "secret", err: "mount point full is not empty"},
		{name: "not empty on request", point: "full", source: "secret", nonEmpty: true, want: "full"},
		{name: "the source", point: "secret", source: "secret", err: "is the cipher directory itself"},
		{name: "the source by a link", point: "tosecret", source: "secret", nonEmpty: true, err: "is the cipher directory itself"},
		{name: "in the source", point: "secret/in", source: "secret", err: "lies in the cipher directory"},
		{name: "in the source by a link", point: "toin", source: "tosecret", err: "lies in the cipher directory"},
		{name: "above the source", point: "above", source: "above/secret", nonEmpty: true, err: "lies in the mount point"},
		{name: "a mount", point: "/proc", source: "secret", err: "mount point /proc is a mount already, of proc"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := checkMountPoint(tt.point, tt.source, tt.nonEmpty)
			checkError(t, err, tt.err)
			if err != nil {
				if code, _ := classify(err); code != exitMountPoint {
					t.Errorf("exit code: got %d, want %d", code, exitMountPoint)
				}
				return
			}
			if want := filepath.Join(here, tt.want); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestUserAllowOther(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       bool
	}{
		{"empty", "", false},
		{"commented out", "# user_allow_other\n#user_allow_other\n", false},
		{"set", "mount_max = 10\nuser_allow_other\n", true},
		{"with blanks, no line end", "  user_allow_other ", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conf := filepath.Join(t.TempDir(), "fuse.conf")
			if err := os.WriteFile(conf, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := userAllowOther(conf); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
	if userAllowOther(filepath.Join(t.TempDir(), "none")) {
		t.Error("got true without a file")
	}
}
