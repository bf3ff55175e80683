package ext4

import (
	"fmt"
	"syscall"

	"encfs/fs/store"
)

// Lookup implements store.Store. A name that is not found in a directory of
// which something is damaged gives that error, as it might be there.
func (s *Store) Lookup(dir store.Node, name []byte) (store.Node, store.Attr, error) {
	return s.lookup(dir, func(f *search) (bool, error) { return f.name(name) })
}

// LookupHash implements store.FileSystem.
func (s *Store) LookupHash(dir store.Node, hash uint32, match func(name []byte) bool) (store.Node, store.Attr, error) {
	return s.lookup(dir, func(f *search) (bool, error) { return f.hash(hash, match) })
}

func (s *Store) lookup(dir store.Node, find func(*search) (bool, error)) (store.Node, store.Attr, error) {
	fail := func(err error) (store.Node, store.Attr, error) {
		return nil, store.Attr{}, fmt.Errorf("ext4: lookup in %v: %w", dir, err)
	}
	in, err := s.dirInode(dir)
	if err != nil {
		return fail(err)
	}
	f := &search{s: s, in: in}
	ok, err := find(f)
	if err != nil {
		return fail(err)
	}
	if !ok {
		return fail(syscall.ENOENT)
	}
	if f.found.ino < s.sb.firstInode && f.found.ino != rootInode {
		return fail(in.damaged("an entry leads to the reserved inode %d", f.found.ino))
	}
	found, err := s.inode(f.found.ino)
	if err != nil {
		return fail(err)
	}
	a, err := s.attr(found)
	if err != nil {
		return fail(err)
	}
	return node(found.ino), a, nil
}

// A search looks for an entry of a directory.
type search struct {
	s     *Store
	in    *inode
	match func(name []byte) bool
	found dirEntry
	// visits is how many more blocks a search in the index may look at, lest
	// damage lead it in circles.
	visits uint64
}

// name looks for a stored name.
func (f *search) name(name []byte) (bool, error) {
	f.match = func(b []byte) bool { return string(b) == string(name) }
	if f.in.isFlag(flagIndex) && !f.in.isFlag(flagCasefold) {
		h, err := f.s.dirHash(f.in)
		if err != nil {
			return false, err
		}
		if h != nil {
			hash, _ := h.sum(name)
			if found, err := f.index(hash); err == nil {
				return found, nil
			}
		}
	}
	if blocks := uint64(f.s.size(f.in)) >> f.s.dev.log2; blocks > nameListBlocks {
		if list := f.s.names.list(f.s, f.in); list != nil {
			return f.listed(list, name)
		}
	}
	return f.all()
}

// hash looks for a name that match takes and that the directory has this hash
// for.
func (f *search) hash(hash uint32, match func(name []byte) bool) (bool, error) {
	f.match = match
	if f.in.isFlag(flagIndex) && hash != 0 {
		if found, err := f.index(hash); err == nil {
			return found, nil
		}
	}
	return f.all()
}

// all looks in all blocks.
func (f *search) all() (bool, error) {
	var damage error
	for b, err := range f.s.dirBlocks(f.in) {
		found := false
		if err == nil {
			found, err = f.block(b)
		}
		switch {
		case found:
			return true, nil
		case err != nil && !isDamage(err):
			return false, err
		case damage == nil:
			damage = err
		}
	}
	return false, damage
}

// block looks in a block.
func (f *search) block(d dirBlock) (bool, error) {
	for e, err := range f.s.entries(f.in, d) {
		if err != nil {
			return false, err
		}
		if f.match(e.name) {
			f.found = e
			return true, nil
		}
	}
	return false, nil
}

// listed looks in the blocks that a list of names has for a name.
func (f *search) listed(l *nameList, name []byte) (bool, error) {
	for _, nr := range l.blocks(name) {
		d, err := f.s.dirBlockAt(f.in, nr)
		if err != nil {
			return false, err
		}
		if found, err := f.block(d); found || err != nil {
			return found, err
		}
	}
	return false, l.damage
}
