package extract

import (
	"sync"

	"golang.org/x/sys/unix"

	"encfs/fs"
)

// links are the objects that have names which were not met yet.
type links struct {
	mu    sync.Mutex
	known map[linkKey]*link // guarded by mu
}

type linkKey struct{ dev, ino uint64 }

// A link is an object with several names.
type link struct {
	left  uint32        // names that were not met, guarded by links.mu
	ready chan struct{} // closed when the fields below are set

	name string // in the staging folder; "": it cannot have several names here
	err  error  // it cannot be read
}

func (t *links) init() { t.known = map[linkKey]*link{} }

// claim finds an object with several names. The first to ask makes the copy and closes
// ready then, for which the others wait.
func (t *links) claim(a fs.Attr) (l *link, first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := linkKey{a.Dev, a.Ino}
	l = t.known[key]
	if l == nil {
		l = &link{left: a.Nlink, ready: make(chan struct{})}
		t.known[key] = l
		first = true
	}
	if l.left--; l.left == 0 {
		delete(t.known, key)
	}
	return l, first
}

// linkTo gives the copy of an object another name. It returns false if it cannot
// have one, or there is no copy though there could be.
func (r *run) linkTo(l *link, d *directory, name string) (bool, error) {
	if l.err != nil {
		return false, l.err
	}
	if l.name == "" {
		return false, nil
	}
	if r.o.Resume {
		var here, copied unix.Stat_t
		if lstatat(d.fd, name, &here) == nil && lstatat(r.staging.fd, l.name, &copied) == nil &&
			here.Dev == copied.Dev && here.Ino == copied.Ino {
			r.count.kept.Add(1)
			r.o.Progress(1, 0)
			return true, nil
		}
	}
	temp := r.staging.newName()
	err := retry(func() error { return unix.Linkat(r.staging.fd, l.name, r.staging.fd, temp, 0) })
	if err == unix.EMLINK {
		return false, nil
	}
	if err != nil {
		return false, &CopyError{"link", err}
	}
	if err := r.place(temp, d, name); err != nil {
		unix.Unlinkat(r.staging.fd, temp, 0)
		return false, err
	}
	r.count.links.Add(1)
	r.o.Progress(1, 0)
	return true, nil
}
