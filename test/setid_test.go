package test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSetIDBits checks what takes the set-ID bits of a program away, and what
// does not.
func TestSetIDBits(t *testing.T) {
	for _, without := range []string{"", "kill-priv", "no-open"} {
		t.Run("without "+without, func(t *testing.T) { testSetIDBits(t, without) })
	}
}

func testSetIDBits(t *testing.T, without string) {
	tr, dir := openHouse(t)
	if without != "" {
		tr.remount("--without", without)
		dir = tr.reachable("open")
	}
	change := func(f func(fd int) error) func(string) error {
		return func(p string) error { return withFile(p, f) }
	}
	for _, tt := range []struct {
		name string
		user int // who does it; the file is bob's
		mode uint32
		do   func(path string) error
		want uint32
	}{
		{"write", alice, 0o6777, change(func(fd int) error { return second(unix.Pwrite(fd, []byte("y"), 0)) }), 0o777},
		{"write past the end", alice, 0o6777, change(func(fd int) error { return second(unix.Pwrite(fd, []byte("y"), 9000)) }), 0o777},
		{"write of nothing", alice, 0o6777, change(func(fd int) error { return second(unix.Pwrite(fd, nil, 0)) }), 0o6777},
		{"write by the owner", bob, 0o6777, change(func(fd int) error { return second(unix.Pwrite(fd, []byte("y"), 0)) }), 0o777},
		{"write by root", 0, 0o6777, change(func(fd int) error { return second(unix.Pwrite(fd, []byte("y"), 0)) }), 0o6777},
		{"direct write", alice, 0o6777, func(p string) error {
			fd, err := unix.Open(p, unix.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return second(unix.Pwrite(fd, make([]byte, 4096), 0))
		}, 0o777},
		{"read", alice, 0o6777, change(func(fd int) error { return second(unix.Pread(fd, make([]byte, 10), 0)) }), 0o6777},
		{"ftruncate", alice, 0o6777, change(func(fd int) error { return unix.Ftruncate(fd, 1) }), 0o777},
		{"truncate", alice, 0o6777, func(p string) error { return unix.Truncate(p, 10) }, 0o777},
		{"truncate by root", 0, 0o6777, func(p string) error { return unix.Truncate(p, 10) }, 0o6777},
		{"O_TRUNC", alice, 0o6777, func(p string) error { return openClose(p, unix.O_WRONLY|unix.O_TRUNC) }, 0o777},
		{"fallocate", alice, 0o6777, change(func(fd int) error { return unix.Fallocate(fd, 0, 0, 9000) }), 0o777},
		{"punch", alice, 0o6777, change(func(fd int) error {
			return unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 100)
		}), 0o777},
		{"chown by root", 0, 0o6755, func(p string) error { return unix.Chown(p, alice, -1) }, 0o755},
		{"chgrp by root", 0, 0o6755, func(p string) error { return unix.Chown(p, -1, team) }, 0o755},
		{"chgrp by the owner to the same", bob, 0o6755, func(p string) error { return unix.Chown(p, -1, bob) }, 0o755},
		{"chgrp without execution by the group", 0, 0o2644, func(p string) error { return unix.Chown(p, -1, team) }, 0o2644},
		{"chmod by the owner", bob, 0o755, func(p string) error { return unix.Chmod(p, 0o6755) }, 0o6755},
		{"utimensat", bob, 0o6755, func(p string) error { return unix.UtimesNanoAt(unix.AT_FDCWD, p, utimesNow, 0) }, 0o6755},
		{"setxattr", bob, 0o6755, func(p string) error { return unix.Setxattr(p, "user.a", []byte("x"), 0) }, 0o6755},
		{"link", bob, 0o6755, func(p string) error { return os.Link(p, p+"-link") }, 0o6755},
		{"rename", bob, 0o6755, func(p string) error { return errors.Join(os.Rename(p, p+"-new"), os.Rename(p+"-new", p)) }, 0o6755},
	} {
		p := tr.path("open", tt.name)
		for _, err := range []error{os.WriteFile(p, []byte("x"), 0o644), os.Chown(p, bob, bob), unix.Chmod(p, tt.mode)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		asUser(t, tt.user, tt.user, func() { wantErrno(t, tt.name, errnoOf(tt.do(dir+"/"+tt.name)), 0) })
		for _, path := range []string{p, tr.lower(p)} {
			var st unix.Stat_t
			if err := unix.Stat(path, &st); err != nil || st.Mode&0o7777 != tt.want {
				t.Errorf("%s: mode %#o afterwards, %v, want %#o (in %s)", tt.name, st.Mode&0o7777, err, tt.want, path)
			}
		}
	}
}

// TestSetGroupIDOfAnotherGroup is not to be had by who is not in the group,
// however they ask for it.
func TestSetGroupIDOfAnotherGroup(t *testing.T) {
	tr, dir := openHouse(t)
	for _, err := range []error{
		os.WriteFile(tr.path("open/file"), nil, 0o755), os.Chown(tr.path("open/file"), alice, team),
		os.Mkdir(tr.path("open/dir"), 0o755), os.Chown(tr.path("open/dir"), alice, team), unix.Chmod(tr.path("open/dir"), 0o2777),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	defer unix.Umask(unix.Umask(0))
	asUser(t, alice, alice, func() {
		wantErrno(t, "chmod", unix.Chmod(dir+"/file", 0o6755), 0)
		fd, err := unix.Open(dir+"/dir/file", unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o2755)
		wantErrno(t, "create", err, 0)
		unix.Close(fd)
		wantErrno(t, "mknod", unix.Mknod(dir+"/dir/node", unix.S_IFREG|0o2755, 0), 0)
		wantErrno(t, "mkdir", unix.Mkdir(dir+"/dir/dir", 0o755), 0)
	})
	for name, want := range map[string]uint32{
		"file": unix.S_IFREG | 0o4755, "dir/file": unix.S_IFREG | 0o755, "dir/node": unix.S_IFREG | 0o755, "dir/dir": unix.S_IFDIR | 0o2755,
	} {
		var st unix.Stat_t
		if err := unix.Stat(tr.path("open", name), &st); err != nil || st.Mode != want || st.Gid != team {
			t.Errorf("%s: mode %#o, group %d, %v; want %#o, %d", name, st.Mode, st.Gid, err, want, team)
		}
	}
}

// TestCapabilityGoes checks that a program that is changed loses its
// capabilities, whoever changes it.
func TestCapabilityGoes(t *testing.T) {
	tr, dir := openHouse(t)
	// cap_net_raw+p, as linux/capability.h lays out revision 2.
	capability := []byte{0, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	for _, tt := range []struct {
		name string
		user int
		do   func(path string) error
		goes bool
	}{
		{"write", alice, func(p string) error { return writeAt(p, "y", 0) }, true},
		{"write by root", 0, func(p string) error { return writeAt(p, "y", 0) }, true},
		{"truncate", alice, func(p string) error { return unix.Truncate(p, 0) }, true},
		{"chown", 0, func(p string) error { return unix.Chown(p, bob, bob) }, true},
		{"chmod", 0, func(p string) error { return unix.Chmod(p, 0o700) }, false},
		{"read", alice, func(p string) error { return second(os.ReadFile(p)) }, false},
	} {
		p := tr.plant("open/"+tt.name, []byte("x"))
		if err := errors.Join(os.Chmod(p, 0o777), unix.Setxattr(p, "security.capability", capability, 0)); err != nil {
			if errors.Is(err, unix.EOPNOTSUPP) {
				t.Skip("no capabilities below")
			}
			t.Fatal(err)
		}
		asUser(t, tt.user, tt.user, func() { wantErrno(t, tt.name, errnoOf(tt.do(dir+"/"+tt.name)), 0) })
		_, err := unix.Getxattr(p, "security.capability", make([]byte, 100))
		if gone := err == unix.ENODATA; err != nil && !gone || gone != tt.goes {
			t.Errorf("%s: the capability is gone: %v (%v), want %v", tt.name, gone, err, tt.goes)
		}
	}
}

// TestSticky removes and renames in a directory where only owners may: the
// owner of the directory, or of what is in it.
func TestSticky(t *testing.T) {
	tr, dir := openHouse(t)
	kinds := map[string]func(p string) error{
		"file": func(p string) error { return os.WriteFile(p, nil, 0o666) },
		"dir":  func(p string) error { return os.Mkdir(p, 0o777) },
		"link": func(p string) error { return os.Symlink("x", p) },
		"fifo": func(p string) error { return unix.Mkfifo(p, 0o666) },
	}
	n := 0
	for _, dirOwner := range []int{alice, bob} {
		for _, owner := range []int{alice, bob} {
			for _, kind := range sorted(kinds) {
				n++
				name := fmt.Sprint("sticky", n)
				at := tr.path("open", name)
				make := func(object string, uid int) {
					t.Helper()
					p := at + "/" + object
					if err := errors.Join(kinds[kind](p), os.Lchown(p, uid, uid)); err != nil {
						t.Fatal(err)
					}
				}
				if err := errors.Join(os.Mkdir(at, 0o777), os.Chown(at, dirOwner, dirOwner), unix.Chmod(at, 0o1777)); err != nil {
					t.Fatal(err)
				}
				make("gone", owner)
				make("moved", owner)
				make("over", owner)
				make("mine", alice)
				make("swapped", owner)
				make("swap", alice)
				want := unix.EPERM
				if dirOwner == alice || owner == alice {
					want = 0
				}
				what := fmt.Sprintf("%s of %d in the directory of %d", kind, owner, dirOwner)
				p := dir + "/" + name
				asUser(t, alice, alice, func() {
					remove := unix.Unlink
					if kind == "dir" {
						remove = unix.Rmdir
					}
					wantErrno(t, "remove a "+what, remove(p+"/gone"), want)
					wantErrno(t, "rename a "+what, unix.Rename(p+"/moved", p+"/new"), want)
					wantErrno(t, "rename over a "+what, unix.Rename(p+"/mine", p+"/over"), want)
					err := unix.Renameat2(unix.AT_FDCWD, p+"/swap", unix.AT_FDCWD, p+"/swapped", unix.RENAME_EXCHANGE)
					wantErrno(t, "exchange with a "+what, err, want)
				})
			}
		}
	}
}
