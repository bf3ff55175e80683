package main

import (
	"slices"
	"strings"
	"testing"
)

func TestArguments(t *testing.T) {
	for _, tt := range []struct{ name, argv, want string }{
		{"by its own name", "/usr/bin/encfs mount a b -o ro", "mount a b -o ro"},
		{"no arguments", "encfs", ""},
		{"mount", "/sbin/mount.encfs a b -o rw,passfile=c", "mount -o rw,passfile=c -- a b"},
		{"with a type", "/sbin/mount.fuse.encfs a b -n -o rw -t fuse.encfs", "mount -o rw -- a b"},
		{"letters together", "mount.encfs a b -sv -N /proc/1/ns/mnt", "mount -- a b"},
		{"leading dash", "mount.encfs -a -b -o ro", "mount -o ro -- -a -b"},
		{"fake", "mount.encfs a b -fv -o ro", "mount --fake -o ro -- a b"},
		{"what mount(8) does not say", "mount.encfs a b --help", "mount --help -- a b"},
		{"-o without a value", "mount.encfs a b -o", "mount -o -- a b"},
		{"too few", "mount.encfs -h", "-h"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, want := arguments(strings.Fields(tt.argv)), strings.Fields(tt.want)
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
