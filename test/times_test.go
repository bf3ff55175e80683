package test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A timed is an object whose times are watched through a descriptor of O_PATH,
// whatever becomes of its name.
type timed struct {
	name   string
	fd     int
	before unix.Stat_t
}

// changed returns which times are others than before: m, c or both.
func (o *timed) changed(t *testing.T) string {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(o.fd, &st); err != nil {
		t.Fatal(err)
	}
	s := ""
	if st.Mtim != o.before.Mtim {
		s += "m"
	}
	if st.Ctim != o.before.Ctim {
		s += "c"
	}
	return s
}

// nextTick waits until the clock from which file systems take their times has
// moved on.
func nextTick(t *testing.T) {
	t.Helper()
	var from, now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &from); err != nil {
		t.Fatal(err)
	}
	for now = from; now == from; time.Sleep(time.Millisecond) {
		if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTimesOfOperations checks which times each operation changes, and that it
// leaves all others: m is the time of the last modification of data or entries,
// c that of the last change of status. Whether a rename changes the status of
// what it renames is open; that is not looked at.
func TestTimesOfOperations(t *testing.T) {
	tr := mountedTree(t)
	rename := func(from, to string, flags uint) error {
		return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, flags)
	}
	for _, tt := range []struct {
		name string
		want string // NAME:TIMES of what changes; NAME:? of what is open
		do   func(dir string) error
		err  syscall.Errno // that do gives
	}{
		{name: "write", want: "file:mc", do: func(d string) error { return writeAt(d+"/file", "y", 0) }},
		{name: "write of nothing", do: func(d string) error { return writeAt(d+"/file", "", 0) }},
		{name: "write past the end", want: "file:mc", do: func(d string) error { return writeAt(d+"/file", "y", 10000) }},
		{name: "read", do: func(d string) error { _, err := os.ReadFile(d + "/file"); return err }},
		{name: "readdir", do: func(d string) error { _, err := os.ReadDir(d); return err }},
		{name: "readlink", do: func(d string) error { _, err := os.Readlink(d + "/link"); return err }},
		{name: "truncate to less", want: "file:mc", do: func(d string) error { return unix.Truncate(d+"/file", 100) }},
		{name: "truncate to more", want: "file:mc", do: func(d string) error { return unix.Truncate(d+"/file", 20000) }},
		{name: "ftruncate to the same", want: "file:mc", do: func(d string) error {
			return withFile(d+"/file", func(fd int) error { return unix.Ftruncate(fd, 5000) })
		}},
		{name: "O_TRUNC", want: "file:mc", do: func(d string) error { return openClose(d+"/file", unix.O_WRONLY|unix.O_TRUNC) }},
		{name: "O_TRUNC of an empty file", want: "empty:mc", do: func(d string) error { return openClose(d+"/empty", unix.O_WRONLY|unix.O_TRUNC) }},
		{name: "open for writing", do: func(d string) error { return openClose(d+"/file", unix.O_RDWR) }},
		{name: "O_CREAT of what is there", do: func(d string) error { return openClose(d+"/file", unix.O_CREAT|unix.O_WRONLY) }},
		{name: "fallocate", want: "file:mc", do: func(d string) error {
			return withFile(d+"/file", func(fd int) error { return unix.Fallocate(fd, 0, 0, 20000) })
		}},
		{name: "punch", want: "file:mc", do: func(d string) error {
			return withFile(d+"/file", func(fd int) error {
				return unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 100, 4500)
			})
		}},
		{name: "copy_file_range", want: "empty:mc", do: func(d string) error {
			return withFile(d+"/file", func(from int) error {
				return withFile(d+"/empty", func(to int) error { return second(unix.CopyFileRange(from, nil, to, nil, 5000, 0)) })
			})
		}},
		{name: "a shared map", want: "file:mc", do: writeMapped},
		{name: "chmod", want: "file:c", do: func(d string) error { return unix.Chmod(d+"/file", 0o600) }},
		{name: "chmod of a directory", want: "sub:c", do: func(d string) error { return unix.Chmod(d+"/sub", 0o700) }},
		{name: "chown", want: "file:c", do: func(d string) error { return unix.Chown(d+"/file", os.Getuid(), os.Getgid()) }},
		{name: "lchown of a link", want: "link:c", do: func(d string) error { return unix.Lchown(d+"/link", os.Getuid(), os.Getgid()) }},
		{name: "utimensat of the access time", want: "file:c", do: func(d string) error {
			return unix.UtimesNanoAt(unix.AT_FDCWD, d+"/file", []unix.Timespec{{Sec: 1}, {Nsec: unix.UTIME_OMIT}}, 0)
		}},
		{name: "utimensat of nothing", do: func(d string) error {
			return unix.UtimesNanoAt(unix.AT_FDCWD, d+"/file", []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Nsec: unix.UTIME_OMIT}}, 0)
		}},
		{name: "utimensat", want: "file:mc", do: func(d string) error {
			return unix.UtimesNanoAt(unix.AT_FDCWD, d+"/file", []unix.Timespec{{Sec: 1}, {Sec: 1}}, 0)
		}},
		{name: "link", want: ".:mc file:c", do: func(d string) error { return os.Link(d+"/file", d+"/new") }},
		{name: "link in another directory", want: "sub:mc file:c", do: func(d string) error { return os.Link(d+"/file", d+"/sub/new") }},
		{name: "unlink", want: ".:mc file:c", do: func(d string) error { return unix.Unlink(d + "/file") }},
		{name: "unlink of one of two links", want: ".:mc linked:c", do: func(d string) error { return unix.Unlink(d + "/linked") }},
		{name: "create", want: ".:mc", do: func(d string) error { return openClose(d+"/new", unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY) }},
		{name: "mkdir", want: ".:mc", do: func(d string) error { return os.Mkdir(d+"/new", 0o755) }},
		{name: "rmdir", want: ".:mc sub:?", do: func(d string) error { return unix.Rmdir(d + "/sub") }},
		{name: "symlink", want: ".:mc", do: func(d string) error { return os.Symlink("x", d+"/new") }},
		{name: "mkfifo", want: ".:mc", do: func(d string) error { return unix.Mkfifo(d+"/new", 0o644) }},
		{name: "create with a long name", want: ".:mc", do: func(d string) error {
			return openClose(d+"/"+strings.Repeat("n", 255), unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY)
		}},
		{name: "rename", want: ".:mc file:?", do: func(d string) error { return os.Rename(d+"/file", d+"/new") }},
		{name: "rename to another directory", want: ".:mc sub:mc file:?", do: func(d string) error { return os.Rename(d+"/file", d+"/sub/new") }},
		{name: "rename over another", want: ".:mc file:? empty:c", do: func(d string) error { return os.Rename(d+"/file", d+"/empty") }},
		{name: "rename over one of two links", want: ".:mc file:? linked:c", do: func(d string) error { return os.Rename(d+"/file", d+"/linked") }},
		{name: "rename of a directory over another", want: ".:mc sub:? full:?", do: func(d string) error { return unix.Rename(d+"/full", d+"/sub") }},
		{name: "rename to another link of the same", do: func(d string) error { return os.Rename(d+"/linked", d+"/linked2") }},
		{name: "exchange", want: ".:mc full:mc file:? inside:?", do: func(d string) error { return rename(d+"/file", d+"/full/inside", unix.RENAME_EXCHANGE) }},
		{name: "setxattr", want: "file:c", do: func(d string) error { return unix.Setxattr(d+"/file", "user.new", []byte("x"), 0) }},
		{name: "removexattr", want: "file:c", do: func(d string) error { return unix.Removexattr(d+"/file", "user.old") }},
		{name: "getxattr", do: func(d string) error { return second(unix.Getxattr(d+"/file", "user.old", make([]byte, 10))) }},

		// What fails changes nothing.
		{name: "unlink of nothing", err: unix.ENOENT, do: func(d string) error { return unix.Unlink(d + "/none") }},
		{name: "mkdir of what is there", err: unix.EEXIST, do: func(d string) error { return unix.Mkdir(d+"/sub", 0o755) }},
		{name: "symlink of what is there", err: unix.EEXIST, do: func(d string) error { return unix.Symlink("x", d+"/file") }},
		{name: "link of what is there", err: unix.EEXIST, do: func(d string) error { return unix.Link(d+"/file", d+"/empty") }},
		{name: "rmdir of what is full", err: unix.ENOTEMPTY, do: func(d string) error { return unix.Rmdir(d + "/full") }},
		{name: "rename over what is full", err: unix.ENOTEMPTY, do: func(d string) error { return unix.Rename(d+"/sub", d+"/full") }},
		{name: "rename of a file over a directory", err: unix.EISDIR, do: func(d string) error { return unix.Rename(d+"/file", d+"/sub") }},
		{name: "rename of a directory over a file", err: unix.ENOTDIR, do: func(d string) error { return unix.Rename(d+"/sub", d+"/file") }},
		{name: "RENAME_NOREPLACE", err: unix.EEXIST, do: func(d string) error { return rename(d+"/file", d+"/empty", unix.RENAME_NOREPLACE) }},
		{name: "RENAME_EXCHANGE with nothing", err: unix.ENOENT, do: func(d string) error { return rename(d+"/file", d+"/none", unix.RENAME_EXCHANGE) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tr.path(strings.ReplaceAll(tt.name, " ", "-"))
			watched := timedTree(t, dir)
			nextTick(t)
			wantErrno(t, tt.name, errnoOf(tt.do(dir)), tt.err)
			want := map[string]string{}
			for _, w := range strings.Fields(tt.want) {
				name, times, _ := strings.Cut(w, ":")
				want[name] = times
			}
			for _, o := range watched {
				if got := o.changed(t); got != want[o.name] && want[o.name] != "?" {
					t.Errorf("%s: %q changed, want %q", o.name, got, want[o.name])
				}
			}
		})
	}
}

// timedTree makes a directory with something of every kind and watches it.
func timedTree(t *testing.T, dir string) []*timed {
	t.Helper()
	for _, err := range []error{
		os.Mkdir(dir, 0o755), os.Mkdir(dir+"/sub", 0o755), os.Mkdir(dir+"/full", 0o755),
		os.WriteFile(dir+"/file", pattern(5000, 1), 0o644), os.WriteFile(dir+"/empty", nil, 0o644),
		os.WriteFile(dir+"/linked", pattern(10, 1), 0o644), os.Link(dir+"/linked", dir+"/linked2"),
		os.WriteFile(dir+"/full/inside", pattern(10, 1), 0o644), os.Symlink("x", dir+"/link"),
		unix.Setxattr(dir+"/file", "user.old", []byte("x"), 0),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var list []*timed
	for _, name := range []string{".", "sub", "full", "full/inside", "file", "empty", "linked", "link"} {
		o := &timed{name: filepath.Base(name)}
		var err error
		if o.fd, err = unix.Open(dir+"/"+name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(o.fd) })
		if err := unix.Fstat(o.fd, &o.before); err != nil {
			t.Fatal(err)
		}
		list = append(list, o)
	}
	return list
}

func withFile(path string, f func(fd int) error) error {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return f(fd)
}

func writeAt(path, data string, off int64) error {
	return withFile(path, func(fd int) error { return second(unix.Pwrite(fd, []byte(data), off)) })
}

func writeMapped(dir string) error {
	return withFile(dir+"/file", func(fd int) error {
		m, err := unix.Mmap(fd, 0, 5000, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return err
		}
		m[4000] = 'y'
		err = unix.Msync(m, unix.MS_SYNC)
		unix.Munmap(m)
		return err
	})
}

// TestUtimensat sets times as their owner and as others.
func TestUtimensat(t *testing.T) {
	tr, dir := openHouse(t)
	const old = 1000000000
	for name, mode := range map[string]os.FileMode{"own": 0o644, "writable": 0o666, "readable": 0o644} {
		p := tr.plant("open/"+name, []byte("x"))
		owner := bob
		if name == "own" {
			owner = alice
		}
		for _, err := range []error{os.Chmod(p, mode), os.Chown(p, owner, owner)} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	now, omit, set := unix.Timespec{Nsec: unix.UTIME_NOW}, unix.Timespec{Nsec: unix.UTIME_OMIT}, unix.Timespec{Sec: 5, Nsec: 123456789}
	bad := unix.Timespec{Nsec: 1000000000}
	for _, tt := range []struct {
		name                    string
		atime, mtime            unix.Timespec
		own, writable, readable syscall.Errno
	}{
		{"now", now, now, 0, 0, unix.EACCES},
		{"nothing", omit, omit, 0, 0, 0},
		{"both", set, set, 0, unix.EPERM, unix.EPERM},
		{"access", set, omit, 0, unix.EPERM, unix.EPERM},
		{"modification", omit, set, 0, unix.EPERM, unix.EPERM},
		{"access now", now, omit, 0, unix.EPERM, unix.EPERM},
		{"modification now", omit, now, 0, unix.EPERM, unix.EPERM},
		{"one of each", now, set, 0, unix.EPERM, unix.EPERM},
		{"no time", bad, omit, unix.EINVAL, unix.EINVAL, unix.EINVAL},
	} {
		for name, want := range map[string]syscall.Errno{"own": tt.own, "writable": tt.writable, "readable": tt.readable} {
			p := tr.path("open", name)
			before := unix.Timespec{Sec: old}
			if err := unix.UtimesNanoAt(unix.AT_FDCWD, p, []unix.Timespec{before, before}, 0); err != nil {
				t.Fatal(err)
			}
			asUser(t, alice, alice, func() {
				err := unix.UtimesNanoAt(unix.AT_FDCWD, dir+"/"+name, []unix.Timespec{tt.atime, tt.mtime}, 0)
				wantErrno(t, fmt.Sprintf("%s, file %s", tt.name, name), err, want)
			})
			var st unix.Stat_t
			if err := unix.Stat(p, &st); err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				which    string
				arg, got unix.Timespec
			}{{"atime", tt.atime, st.Atim}, {"mtime", tt.mtime, st.Mtim}} {
				switch {
				case want != 0 || c.arg == omit:
					if c.got != before {
						t.Errorf("%s, file %s: %s is %v, want it as before", tt.name, name, c.which, c.got)
					}
				case c.arg == now:
					if c.got.Sec <= old {
						t.Errorf("%s, file %s: %s is %v, want it to be now", tt.name, name, c.which, c.got)
					}
				case c.got != c.arg:
					t.Errorf("%s, file %s: %s is %v, want %v", tt.name, name, c.which, c.got, c.arg)
				}
			}
		}
	}
}

// TestRangeOfTimes sets times far away and with nanoseconds: what the lower file
// system can keep is kept, across mounts.
func TestRangeOfTimes(t *testing.T) {
	tr := mountedTree(t)
	want := map[string]unix.Timespec{}
	for k, sec := range []int64{-1 << 31, -1, 0, 1, 1<<31 - 1, 1 << 31, 1 << 32, 1 << 33} {
		for _, nsec := range []int64{0, 1, 999999999} {
			ts := unix.Timespec{Sec: sec, Nsec: nsec}
			p := tr.plant(fmt.Sprint(k, "-", nsec), []byte("x"))
			lower := filepath.Join(tempDir(t), "file")
			if err := os.WriteFile(lower, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{p, lower} {
				if err := unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{ts, ts}, 0); err != nil {
					t.Fatal(err)
				}
			}
			var st unix.Stat_t
			if err := unix.Stat(lower, &st); err != nil {
				t.Fatal(err)
			}
			want[p] = st.Mtim
		}
	}
	for _, when := range []string{"set", "mounted again"} {
		for p, ts := range want {
			var st unix.Stat_t
			if err := unix.Stat(p, &st); err != nil || st.Mtim != ts || st.Atim != ts {
				t.Errorf("%s %s: atime %v, mtime %v, %v; want %v", filepath.Base(p), when, st.Atim, st.Mtim, err, ts)
			}
		}
		if when == "set" {
			tr.remount()
		}
	}
}
