package ext4_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"

	"encfs/fs/ext4"
	"encfs/fs/ext4/ext4test"
	"encfs/fs/store"
)

// A recorder remembers which sectors of an image were read.
type recorder struct {
	img     []byte
	sectors map[int64]bool
}

const sector = 512

func (r *recorder) ReadAt(dst []byte, off int64) (int, error) {
	for at := off / sector; at < (off+int64(len(dst))+sector-1)/sector; at++ {
		r.sectors[at] = true
	}
	return bytes.NewReader(r.img).ReadAt(dst, off)
}

// describe returns all that a store says of an image, except for contents and targets,
// which have no checksums. Damage is described too, and counted.
func describe(img io.ReaderAt, size int64) (what []string, damages int, err error) {
	s, err := ext4.Open(img, size, ext4.Options{})
	if err != nil {
		if _, ok := errors.AsType[*store.DamagedError](err); ok {
			return nil, 1, nil
		}
		return nil, 0, err
	}
	defer s.Close()
	note := func(n store.Node, e error, args ...any) bool {
		if e == nil {
			what = append(what, fmt.Sprint(n, args))
			return true
		}
		if _, ok := errors.AsType[*store.DamagedError](e); ok {
			damages++
		} else if err == nil {
			err = e
		}
		return false
	}
	var walk func(n store.Node)
	walk = func(n store.Node) {
		a, e := s.Attr(n)
		if !note(n, e, a) {
			return
		}
		c, e := s.Context(n)
		note(n, e, c)
		names, e := s.ListXattr(n)
		note(n, e, names)
		for _, name := range names {
			v, e := s.GetXattr(n, name)
			note(n, e, v)
		}
		switch a.Mode & store.ModeType {
		case store.ModeRegular:
			f, e := s.Open(n, false)
			if note(n, e) {
				at, e := f.Seek(a.Size-1, 4) // SEEK_HOLE goes to the end of the map
				note(n, skipENXIO(e, a.Size), at)
			}
		case store.ModeDir:
			entries, e := s.ReadDir(n)
			if !note(n, e) {
				return
			}
			for _, e := range entries {
				if !note(n, e.Err, e.Name, e.Ino, e.Type, e.Hash, e.Minor) {
					continue
				}
				child, _, err := s.Lookup(n, e.Name)
				if note(n, err) {
					walk(child)
				}
			}
		}
	}
	walk(s.Root())
	return what, damages, err
}

func skipENXIO(err error, size int64) error {
	if size == 0 {
		return nil
	}
	return err
}

// TestDamage changes a byte of metadata at a time and sees that whatever is read
// then is as before, or known to be damaged.
func TestDamage(t *testing.T) {
	for _, name := range []string{"v2-pad16-1k", "geom-new", "frag-1k", "hash-tea", "dirty-csum"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			img := ext4test.Get(name).Image(t)
			r := &recorder{img: img, sectors: map[int64]bool{}}
			want, damages, err := describe(r, int64(len(img)))
			if damages != 0 || err != nil {
				t.Fatalf("undamaged: %d damages, error %v", damages, err)
			}
			known := map[string]bool{}
			for _, w := range want {
				known[w] = true
			}
			noticed := 0
			sectors := slices.Sorted(maps.Keys(r.sectors))
			sectors = sectors[2:] // before the superblock
			const step = 3        // it takes long enough
			for i := 0; i < len(sectors); i += step {
				s := sectors[i]
				// Not the first bytes, without which a block in the journal is
				// none of its own any more: the log ends before it.
				at := s*sector + 12 + int64(i*7919%(sector-12))
				img[at] ^= 0x10
				got, damages, err := describe(bytes.NewReader(img), int64(len(img)))
				img[at] ^= 0x10
				if err != nil {
					t.Errorf("byte %d: %v", at, err)
				}
				for _, g := range got {
					if !known[g] {
						t.Errorf("byte %d: silently says %s", at, g)
					}
				}
				if damages == 0 && len(got) < len(want) {
					t.Errorf("byte %d: silently less", at)
				}
				if damages > 0 {
					noticed++
				}
			}
			if noticed*2*step < len(sectors) {
				t.Errorf("%d of %d changes noticed", noticed, len(sectors)/step)
			}
		})
	}
}
