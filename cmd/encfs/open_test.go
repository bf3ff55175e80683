package main

import (
	"testing"

	"encfs/fs/dirstore"
)

func TestShellWord(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"/srv/secret-1", "/srv/secret-1"},
		{"a b", "'a b'"},
		{"it's", `'it'\''s'`},
		{"$HOME", "'$HOME'"},
		{"ä", "'ä'"},
		{"", "''"},
	} {
		if got := shellWord(tt.in); got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.in, got, tt.want)
		}
	}
}

func TestHeaderLost(t *testing.T) {
	const missing = "source a b: the header .encfs-dir is missing; "
	for _, tt := range []struct {
		name string
		err  dirstore.LostHeaderError
		want string
	}{
		{"copy", dirstore.LostHeaderError{Copy: true}, "restore it with: getfattr --only-values -n user.encfs.dir 'a b' >'a b/.encfs-dir'"},
		{"copy without objects", dirstore.LostHeaderError{Copy: true, Empty: true}, "restore it with: getfattr --only-values -n user.encfs.dir 'a b' >'a b/.encfs-dir'"},
		{"objects", dirstore.LostHeaderError{}, "restore it from a backup"},
		{"metadata", dirstore.LostHeaderError{Empty: true}, "restore it from a backup, or repeat the init that was interrupted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkReport(t, headerLost("a b", &tt.err), exitSource, missing+tt.want)
		})
	}
}
