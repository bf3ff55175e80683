package extract

import (
	"cmp"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"encfs/fs"
)

// createFile makes a regular file with its contents in the staging folder.
func (r *run) createFile(w *worker, temp string, i *fs.Inode) (m made, lacks []error, err error) {
	m = made{fd: -1}
	if err := r.v.Open(i, false); err != nil {
		return m, nil, err
	}
	defer r.v.CloseFile(i)
	a, err := r.v.Attr(i)
	if err != nil {
		return m, nil, err
	}
	m.fd, err = openat(r.staging.fd, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return m, nil, &CopyError{"create", err}
	}
	c := &copying{r: r, inode: i, size: a.Size, unit: int64(r.v.UnitSize(i)), fd: m.fd}
	if err := c.run(w); err != nil {
		unix.Close(m.fd)
		return m, nil, err
	}
	m.bytes = c.written
	return m, c.lacks(), nil
}

// A copying copies the contents of a file. Workers do parts of it.
type copying struct {
	r     *run
	inode *fs.Inode
	size  int64
	unit  int64 // size of a data unit
	fd    int   // to write to

	parts sync.WaitGroup // that others do

	mu   sync.Mutex
	err  error      // the first, guarded by mu
	lost []lostPart // that cannot be read, guarded by mu

	written int64 // how much, guarded by mu
	end     int64 // of what was written, guarded by mu
}

// run copies the data and leaves the holes out. The file is as long as it should be
// then.
func (c *copying) run(w *worker) error {
	err := c.data(w)
	c.parts.Wait()
	if err := cmp.Or(c.err, err); err != nil {
		return err
	}
	if c.end == c.size {
		return nil
	}
	if err := retry(func() error { return unix.Ftruncate(c.fd, c.size) }); err != nil {
		return &CopyError{"set size", err}
	}
	return nil
}

// data has the parts of the file that are data copied.
func (c *copying) data(w *worker) error {
	for off := int64(0); off < c.size; {
		start, err := c.r.v.Seek(c.inode, off, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return nil
		}
		end := c.size
		if err == nil {
			end, err = c.r.v.Seek(c.inode, start, unix.SEEK_HOLE)
		}
		if err != nil {
			// Where the data are is not known here, perhaps further on.
			if !c.r.o.Salvage {
				return err
			}
			start, end = off, min(off+partSize, c.size)
		}
		end = min(end, c.size)
		for at := start; at < end; at += partSize {
			if err := c.stopped(); err != nil {
				return err
			}
			n := min(partSize, end-at)
			if end-start <= partSize { // not worth waking anybody
				c.part(w, at, n)
				continue
			}
			c.parts.Add(1)
			w.share(func(w *worker) {
				defer c.parts.Done()
				c.part(w, at, n)
			})
		}
		off = end
	}
	return nil
}

// stopped returns why the copying is not to go on, nil if it is.
func (c *copying) stopped() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil && c.r.ctx.Err() != nil {
		c.err = c.r.ctx.Err()
	}
	return c.err
}

// part copies n bytes at off, at most partSize.
func (c *copying) part(w *worker, off, n int64) {
	if c.stopped() != nil {
		return
	}
	err := c.copy(w, off, n)
	if _, ours := errors.AsType[*CopyError](err); err != nil && !ours && c.r.o.Salvage {
		err = c.salvage(w, off, n)
	}
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.err == nil {
			c.err = err
		}
	}
}

func (c *copying) copy(w *worker, off, n int64) error {
	// Room for whole data units saves a copy.
	got, err := c.r.v.ReadAt(c.inode, w.buf[:min(partSize, (n+c.unit-1)/c.unit*c.unit)], off)
	if err != nil {
		return fmt.Errorf("read at %d: %w", off, err)
	}
	if int64(got) < n {
		return fmt.Errorf("read at %d: has become shorter meanwhile", off)
	}
	if err := pwrite(c.fd, w.buf[:n], off); err != nil {
		return err
	}
	c.r.o.Progress(0, n)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written += n
	c.end = max(c.end, off+n)
	return nil
}
