package ext4

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync"
)

const (
	// nameListBlocks is how many blocks a directory has at most that is read
	// from the beginning at each lookup.
	nameListBlocks = 4
	// nameListMax is how many names a list has at most, of 16 bytes each. What
	// is larger has an index in practice.
	nameListMax = 1 << 18
	// nameListsMax is how many lists are kept.
	nameListsMax = 4
)

// A nameList says in which block of a directory each name is. It serves where
// the directory's own index does not: where there is none, or where the index is
// by the plain name. It is immutable once it is made.
type nameList struct {
	seed   maphash.Seed
	places []namePlace // in order of their hashes
	damage error       // the first damage found while reading the directory
	useful bool        // the list was made, and not given up
}

type namePlace struct {
	hash  uint64
	block uint32
}

// blocks returns the blocks in which a name may be, mostly none or one.
func (l *nameList) blocks(name []byte) []uint64 {
	hash := maphash.Bytes(l.seed, name)
	i, _ := slices.BinarySearchFunc(l.places, hash, func(p namePlace, h uint64) int { return cmp.Compare(p.hash, h) })
	var blocks []uint64
	for ; i < len(l.places) && l.places[i].hash == hash; i++ {
		blocks = append(blocks, uint64(l.places[i].block))
	}
	return blocks
}

// nameLists are the lists of the directories that were used last. The zero value
// is ready for use, also concurrently.
type nameLists struct {
	mu    sync.Mutex
	lists []*madeList // the one used last at the end, guarded by mu
}

// A madeList is a list that is made by who needs it first.
type madeList struct {
	ino  uint32
	once sync.Once
	list nameList
}

// list returns the list of a directory, nil if it cannot be had.
func (l *nameLists) list(s *Store, in *inode) *nameList {
	l.mu.Lock()
	var m *madeList
	if i := slices.IndexFunc(l.lists, func(m *madeList) bool { return m.ino == in.ino }); i >= 0 {
		m = l.lists[i]
		l.lists = append(slices.Delete(l.lists, i, i+1), m)
	} else {
		m = &madeList{ino: in.ino}
		if len(l.lists) == nameListsMax {
			l.lists = slices.Delete(l.lists, 0, 1)
		}
		l.lists = append(l.lists, m)
	}
	l.mu.Unlock()
	m.once.Do(func() { m.list.make(s, in) })
	if !m.list.useful {
		return nil
	}
	return &m.list
}

// make reads the directory. It gives up where there are too many names, or where
// the image cannot be read, which may be for a moment only.
func (l *nameList) make(s *Store, in *inode) {
	l.seed = maphash.MakeSeed()
	for b, err := range s.dirBlocks(in) {
		if err == nil {
			for e, entryErr := range s.entries(in, b) {
				if entryErr != nil {
					err = entryErr
					break
				}
				l.places = append(l.places, namePlace{maphash.Bytes(l.seed, e.name), uint32(b.nr)})
			}
		}
		if err != nil && !isDamage(err) || len(l.places) > nameListMax || b.nr >= 1<<32 {
			l.places = nil
			return
		}
		if l.damage == nil {
			l.damage = err
		}
	}
	slices.SortFunc(l.places, func(a, b namePlace) int { return cmp.Compare(a.hash, b.hash) })
	l.useful = true
}
