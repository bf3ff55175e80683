package extract

import (
	"context"
	"errors"
	"os"
	"path"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"encfs/fs"
	"encfs/fs/store"
)

// Options says how to extract. The zero value is the default.
type Options struct {
	Jobs    int  // how many objects are made at a time; 0 is twice the number of CPUs
	Resume  bool // go on in a destination that is not empty, and leave what is complete there
	Salvage bool // keep files of which parts cannot be read, with zeros there

	// Report is told of each object that could not be copied, or not in all, by its
	// path in the source. It is not called concurrently. nil: nobody is told.
	Report func(path string, err error)
	// Progress counts files and bytes of data that are done, and may be called
	// concurrently. nil: nobody counts.
	Progress func(files, bytes int64)
}

// Extract copies objects of a volume to dest, by their paths as of fs.Volume.Walk.
//
// The copy of a single path is dest itself. It must not exist, except that the copy
// of a directory may become one that is empty. A single path that is no directory
// goes into dest, under its own name, if dest is a directory. Copies of several
// paths go into the directory dest, under their own names; it is made, or must be
// empty. With Options.Resume directories need not be empty.
//
// What cannot be copied is reported and counted, and the rest is copied. The error
// is one that kept all from being copied, or ended it: a *SourceError, a
// *DestinationError, or the cause of ctx. The account is of what was done in any
// case. Nothing unfinished is left except directories without their metadata, for a
// run with Options.Resume to finish. Without an error all is on stable storage.
func Extract(ctx context.Context, v *fs.Volume, paths []string, dest string, o Options) (Account, error) {
	if len(paths) == 0 {
		panic("extract: no paths")
	}
	if o.Jobs <= 0 {
		o.Jobs = 2 * runtime.GOMAXPROCS(0)
	}
	if o.Report == nil {
		o.Report = func(string, error) {}
	}
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	r := &run{v: v, o: o, root: os.Geteuid() == 0, jobs: make(chan func(*worker)), help: make(chan func(*worker))}
	r.links.init()
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	defer r.cancel(nil)
	err := r.extract(paths, dest)
	return r.count.account(), err
}

// A SourceError is an error of a path that was to be copied.
type SourceError struct {
	Path string
	Err  error
}

func (e *SourceError) Error() string { return e.Path + ": " + e.Err.Error() }
func (e *SourceError) Unwrap() error { return e.Err }

// A DestinationError is one after which there is no point in going on: there is no
// room, or the place is not one to extract to.
type DestinationError struct {
	Path string
	Err  error
}

func (e *DestinationError) Error() string { return e.Path + ": " + e.Err.Error() }
func (e *DestinationError) Unwrap() error { return e.Err }

// A CopyError is an error of making a copy or one of its properties, rather than of
// reading the source.
type CopyError struct {
	Op  string // what could not be done or kept
	Err error
}

func (e *CopyError) Error() string { return e.Op + ": " + e.Err.Error() }
func (e *CopyError) Unwrap() error { return e.Err }

// ErrNotEmpty means that a destination holds something already.
var ErrNotEmpty = errors.New("is not empty")

// ErrBusy means that somebody else extracts to the destination.
var ErrBusy = errors.New("is being extracted to")

// errSecondName means an entry that leads to a directory which another one led to
// already: it is damage, and might go round in a circle.
var errSecondName = errors.New("is another name of a directory that was copied already")

// A run is one extraction.
type run struct {
	v    *fs.Volume
	o    Options
	root bool // may give objects to other owners

	ctx    context.Context // ends the run
	cancel context.CancelCauseFunc

	count  counts
	report sync.Mutex // held while o.Report runs
	pool   sync.WaitGroup
	open   sync.WaitGroup // jobs that are not done
	jobs   chan func(*worker)
	help   chan func(*worker)

	staging *staging
	links   links
	seen    fs.InodeSet // directories of a root, used by the walk only
	dest    string
}

// A root is an object that was asked for.
type root struct {
	path, name string
	inode      *fs.Inode
	attr       fs.Attr
}

func (r root) isDir() bool { return r.attr.Mode&store.ModeType == store.ModeDir }

// extract does what Extract says.
func (r *run) extract(paths []string, dest string) error {
	r.dest = dest
	roots, err := r.find(paths)
	defer func() {
		for _, root := range roots {
			if root.inode != nil {
				r.v.Release(root.inode, 1)
			}
		}
	}()
	if err != nil {
		return err
	}
	top, err := r.openDest(roots)
	if err != nil {
		return err
	}
	for range r.o.Jobs {
		r.pool.Go(func() { newWorker(r).work() })
	}
	if top.inode != nil {
		r.seen.Add(top.attr)
		top.left.Add(1)
		r.walk(top)
	} else {
		for i := range roots {
			r.start(top, &roots[i])
		}
	}
	r.open.Wait()
	close(r.help)
	r.pool.Wait()
	defer r.staging.close()
	r.staging.remove()
	r.leave(top)
	if err := context.Cause(r.ctx); err != nil {
		return err
	}
	if err := r.staging.sync(); err != nil {
		return &DestinationError{dest, err}
	}
	return nil
}

// find looks the paths up. It returns those that it has found with an error too.
func (r *run) find(paths []string) ([]root, error) {
	var roots []root
	names := map[string]bool{}
	for _, p := range paths {
		i, a, err := r.v.Walk(p)
		if err != nil {
			return roots, &SourceError{p, err}
		}
		name := path.Base(path.Clean("/" + p))
		roots = append(roots, root{p, name, i, a})
		if len(paths) > 1 && (name == "/" || names[name]) {
			return roots, &SourceError{p, errors.New("has no name of its own among what is to be extracted")}
		}
		names[name] = true
	}
	return roots, nil
}

// start begins to copy one of several objects, or one that is no directory, into top.
func (r *run) start(top *directory, from *root) {
	i := from.inode
	from.inode = nil // which the copying releases
	if from.isDir() {
		r.seen = fs.InodeSet{} // one root may lie in another
		r.descend(top, from.name, source{name: from.path}, i, from.attr)
		return
	}
	top.left.Add(1)
	r.submit(func(w *worker) {
		defer r.leave(top)
		defer r.v.Release(i, 1)
		r.object(w, top, from.name, source{name: from.path}, i, from.attr)
	})
}

// fail reports an object that was not copied, except when the run is over: what
// ended it is said once.
func (r *run) fail(s source, err error) {
	if r.over(err) {
		return
	}
	r.count.failed.Add(1)
	r.tell(s.path(), err)
}

// lack reports what an object that was copied lacks.
func (r *run) lack(s source, errs ...error) {
	for _, err := range errs {
		r.tell(s.path(), err)
	}
	if len(errs) > 0 {
		r.count.incomplete.Add(1)
	}
}

func (r *run) tell(path string, err error) {
	r.report.Lock()
	defer r.report.Unlock()
	r.o.Report(path, err)
}

// over reports whether the run is over. An error that every other object would meet
// too ends it.
func (r *run) over(err error) bool {
	if e, ok := errors.AsType[*CopyError](err); ok && e.ends() {
		r.cancel(&DestinationError{r.dest, e.Err})
	}
	return r.ctx.Err() != nil
}

// ends reports whether there is no point in going on after the error.
func (e *CopyError) ends() bool {
	if strings.HasPrefix(e.Op, opAttribute) {
		return false // ENOSPC: it is too large for the file system
	}
	return e.Err == unix.ENOSPC || e.Err == unix.EDQUOT || e.Err == unix.EROFS
}
