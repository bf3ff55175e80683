package extract

import (
	"context"

	"encfs/fs"
	"encfs/fs/store"
)

// Measure finds out how many objects there are at and below paths, other than
// directories, and about how many bytes of data they have. It calls add, now and then,
// with what it has found, and returns early if ctx is done. What it cannot look at, it
// leaves out.
func Measure(ctx context.Context, v *fs.Volume, paths []string, add func(files, bytes int64)) {
	for _, p := range paths {
		m := measuring{ctx, v, add, fs.InodeSet{}}
		if i, a, err := v.Walk(p); err == nil {
			m.object(i, a)
		}
	}
}

type measuring struct {
	ctx  context.Context
	v    *fs.Volume
	add  func(files, bytes int64)
	seen fs.InodeSet
}

// object measures an object and releases it.
func (m *measuring) object(i *fs.Inode, a fs.Attr) {
	defer m.v.Release(i, 1)
	if a.Mode&store.ModeType != store.ModeDir {
		m.add(1, dataSize(a)/int64(max(a.Nlink, 1)))
		return
	}
	if !m.seen.Add(a) {
		return
	}
	entries, _, err := m.v.ReadDirAll(i)
	if err != nil {
		return
	}
	for _, e := range entries {
		if m.ctx.Err() != nil {
			return
		}
		if below, a, err := m.v.LookupEntry(i, e); err == nil {
			m.object(below, a)
		}
	}
}
