package extract

import (
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// stagingName is what the name of a folder for unfinished files begins with.
const stagingName = ".encfs-partial"

// A staging is a folder in the destination, for us alone, in which objects are made.
// What is left in it of a run that was interrupted is of no use to anybody.
type staging struct {
	at   int // directory that it is in
	name string
	fd   int
	last atomic.Int64
}

// openStaging makes the folder, or takes over the one that an earlier run has left. It
// is ErrBusy if that run is not over.
func (r *run) openStaging(at int, name string) (*staging, error) {
	err := retry(func() error { return unix.Mkdirat(at, name, 0o700) })
	if err != nil && err != unix.EEXIST {
		return nil, &CopyError{"make " + name, err}
	}
	fd, err := openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, &CopyError{"open " + name, err}
	}
	s := &staging{at: at, name: name, fd: fd}
	if err := s.own(r); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return s, nil
}

// own makes the folder ours, empty, and kept from other runs.
func (s *staging) own(r *run) error {
	var st, named unix.Stat_t
	if err := retry(func() error { return unix.Fstat(s.fd, &st) }); err != nil {
		return &CopyError{"stat " + s.name, err}
	}
	if int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s in it belongs to somebody else", s.name)
	}
	if err := retry(func() error { return unix.Flock(s.fd, unix.LOCK_EX|unix.LOCK_NB) }); err == unix.EWOULDBLOCK {
		return ErrBusy
	}
	// The run that had the lock may have removed the folder meanwhile.
	if lstatat(s.at, s.name, &named) != nil || named.Dev != st.Dev || named.Ino != st.Ino {
		return ErrBusy
	}
	if err := r.takeOver(s.fd); err != nil {
		return err
	}
	return s.empty()
}

// newName returns a name in the folder that nothing has.
func (s *staging) newName() string { return fmt.Sprint(s.last.Add(1)) }

// link gives an object another name in the folder and returns it, "" if it cannot
// have one.
func (s *staging) link(at int, name string) string {
	other := s.newName()
	if err := retry(func() error { return unix.Linkat(at, name, s.fd, other, 0) }); err != nil {
		return ""
	}
	return other
}

// empty removes all that is in the folder.
func (s *staging) empty() error {
	names, err := readNames(s.fd)
	if err != nil {
		return &CopyError{"list " + s.name, err}
	}
	for _, name := range names {
		if err := unix.Unlinkat(s.fd, name, 0); err != nil {
			return &CopyError{"remove " + s.name + "/" + name, err}
		}
	}
	return nil
}

// remove removes the folder. What cannot be removed is left to the next run.
func (s *staging) remove() {
	s.empty()
	unix.Unlinkat(s.at, s.name, unix.AT_REMOVEDIR)
}

// sync has the file system that the folder is on, or was, write everything to
// stable storage.
func (s *staging) sync() error {
	if err := retry(func() error { return unix.Syncfs(s.fd) }); err != nil {
		return &CopyError{"sync", err}
	}
	return nil
}

func (s *staging) close() { unix.Close(s.fd) }

// readNames returns the names in a directory, whatever was read of it before.
func readNames(fd int) ([]string, error) {
	other, err := openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(other), "directory")
	defer f.Close()
	return f.Readdirnames(-1)
}
