package extract

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// A lostPart is what cannot be read of a file.
type lostPart struct {
	off, end int64
	err      error
}

// lostMax bounds how many parts of a file are reported. What comes behind them is
// reported as one.
const lostMax = 1000

// salvage copies the data units of a part that can be read, each on its own.
func (c *copying) salvage(w *worker, off, n int64) error {
	for end := off + n; off < end; {
		if err := c.stopped(); err != nil {
			return err
		}
		unit := min(c.unit-off%c.unit, end-off)
		err := c.copy(w, off, unit)
		if _, ours := errors.AsType[*CopyError](err); ours {
			return err
		}
		if err != nil {
			c.lose(lostPart{off, off + unit, err})
		}
		off += unit
	}
	return nil
}

// lose remembers a part that cannot be read.
func (c *copying) lose(l lostPart) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.lost); n > 0 && c.lost[n-1].end == l.off {
		c.lost[n-1].end = l.end
		return
	}
	c.lost = append(c.lost, l)
}

// lacks returns an error for each part of the file that could not be read. All
// copying is over.
func (c *copying) lacks() []error {
	slices.SortFunc(c.lost, func(a, b lostPart) int { return cmp.Compare(a.off, b.off) })
	var joined []lostPart
	for _, l := range c.lost {
		if n := len(joined); n > 0 && (joined[n-1].end == l.off || n == lostMax) {
			joined[n-1].end = l.end
		} else {
			joined = append(joined, l)
		}
	}
	var errs []error
	for _, l := range joined {
		errs = append(errs, fmt.Errorf("bytes %d to %d are lost, with zeros in their place: %w", l.off, l.end-1, l.err))
	}
	return errs
}
