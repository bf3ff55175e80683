package test

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLocks takes locks that another process must not get.
func TestLocks(t *testing.T) {
	tr := mountedTree(t)
	p := tr.plant("file", pattern(100, 1))
	f, err := os.OpenFile(p, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	other := func(kind, how, want string) {
		t.Helper()
		out, err := helper("lock", p, kind, how).CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("%s lock, %s: another process says %q, %v; want %q", kind, how, out, err, want)
		}
	}
	for _, kind := range []string{"flock", "fcntl"} {
		other(kind, "exclusive", "got it")
		lock(t, f, kind, false)
		other(kind, "exclusive", "busy")
		other(kind, "shared", "got it")
		lock(t, f, kind, true)
		other(kind, "shared", "busy")
		unlock(t, f, kind)
		other(kind, "exclusive", "got it")
	}
	// A lock on some bytes is one on those alone.
	l := unix.Flock_t{Type: unix.F_WRLCK, Start: 10, Len: 10}
	if err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &l); err != nil {
		t.Fatal(err)
	}
	other("fcntl-first-bytes", "exclusive", "got it")
	other("fcntl", "exclusive", "busy")
}

func lock(t *testing.T, f *os.File, kind string, exclusive bool) {
	t.Helper()
	if err := tryLock(f, kind, exclusive); err != nil {
		t.Errorf("%s: %v", kind, err)
	}
}

func tryLock(f *os.File, kind string, exclusive bool) error {
	if kind == "flock" {
		how := unix.LOCK_SH
		if exclusive {
			how = unix.LOCK_EX
		}
		return unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
	}
	l := unix.Flock_t{Type: unix.F_RDLCK}
	if exclusive {
		l.Type = unix.F_WRLCK
	}
	if kind == "fcntl-first-bytes" {
		l.Len = 10
	}
	return unix.FcntlFlock(f.Fd(), unix.F_SETLK, &l)
}

func unlock(t *testing.T, f *os.File, kind string) {
	t.Helper()
	err := error(nil)
	if kind == "flock" {
		err = unix.Flock(int(f.Fd()), unix.LOCK_UN)
	} else {
		err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_UNLCK})
	}
	if err != nil {
		t.Error(err)
	}
}

// lockHelper tries to get a lock and says whether it got it.
func lockHelper(args []string) error {
	f, err := os.OpenFile(args[0], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	switch err := tryLock(f, args[1], args[2] == "exclusive"); err {
	case nil:
		fmt.Print("got it")
	case unix.EAGAIN, unix.EACCES:
		fmt.Print("busy")
	default:
		return err
	}
	return nil
}
