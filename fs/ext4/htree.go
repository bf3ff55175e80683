package ext4

import "sort"

const (
	indexInfo      = 0x18 // offset of struct dx_root_info in the root of an index
	indexInfoSize  = 8
	indexRootStart = indexInfo + indexInfoSize // offset of the entries in the root
	indexNodeStart = dirEntryHeader            // and in other blocks
	indexEntrySize = 8
	indexBlockMask = 1<<28 - 1
)

// An indexNode is a block of the index of a directory: the root, or one below
// it.
type indexNode struct {
	entries []byte // 8 bytes each; the first has no hash
	version uint8  // root only: of the hash
	levels  int    // root only: how many there are below
}

func (n indexNode) count() int { return len(n.entries) / indexEntrySize }

// hash returns the least hash that is behind an entry. Its lowest bit says that
// the one before continues there.
func (n indexNode) hash(i int) uint32 {
	if i == 0 {
		return 0 // limit and count are there
	}
	return le.Uint32(n.entries[i*indexEntrySize:])
}

// block returns the block of the directory that an entry leads to.
func (n indexNode) block(i int) uint64 {
	return uint64(le.Uint32(n.entries[i*indexEntrySize+4:]) & indexBlockMask)
}

// find returns the last entry whose hash is at most this one.
func (n indexNode) find(hash uint32) int {
	return sort.Search(n.count()-1, func(i int) bool { return n.hash(i+1) > hash })
}

// parseIndex returns the index node in a block, and verifies its checksum.
func (s *Store) parseIndex(in *inode, d dirBlock) (indexNode, error) {
	bad := func(format string, args ...any) (indexNode, error) {
		return indexNode{}, in.damaged("index in directory block %d: "+format, append([]any{d.nr}, args...)...)
	}
	var n indexNode
	start := indexNodeStart
	if d.nr == 0 {
		start = indexRootStart
		info := d.data[indexInfo:]
		if info[5] != indexInfoSize {
			return bad("its header has %d bytes", info[5])
		}
		n.version, n.levels = info[4], int(info[6])
	}
	limit, count := int(le.Uint16(d.data[start:])), int(le.Uint16(d.data[start+2:]))
	room := (len(d.data) - start) / indexEntrySize
	if s.sb.hasChecksums() {
		room--
	}
	if count < 1 || count > limit || limit > room {
		return bad("%d entries of at most %d where %d fit", count, limit, room)
	}
	end := start + count*indexEntrySize
	n.entries = d.data[start:end]
	if s.sb.hasChecksums() {
		tail := d.data[start+limit*indexEntrySize:]
		sum := crc32c(crc32c(s.own(in), d.data[:end]), tail[:4])
		sum = crc32c(sum, []byte{0, 0, 0, 0})
		if stored := le.Uint32(tail[4:]); sum != stored {
			return bad("checksum is %08x, but computes to %08x", stored, sum)
		}
	}
	return n, nil
}

// index looks in the leaves that the index of the directory has for a
// hash. Where the index is damaged or unknown it is no help, with an error.
func (f *search) index(hash uint32) (bool, error) {
	d, err := f.s.dirBlockAt(f.in, 0)
	if err != nil {
		return false, err
	}
	root, err := f.s.parseIndex(f.in, d)
	if err != nil {
		return false, err
	}
	levelsMax := 1
	if f.s.sb.incompat.has(incompatLargeDir) {
		levelsMax = 2
	}
	if root.levels > levelsMax {
		return false, f.in.damaged("index of %d levels", root.levels)
	}
	f.visits = uint64(f.s.size(f.in)) >> f.s.dev.log2
	return f.below(root, root.levels, hash)
}

// below looks in what is behind the entries of a node for a hash, which may be
// more than one where many names have the same.
func (f *search) below(n indexNode, levels int, hash uint32) (bool, error) {
	for i := n.find(hash); i < n.count(); i++ {
		if f.visits == 0 {
			return false, f.in.damaged("index has more leaves than the directory has blocks")
		}
		f.visits--
		d, err := f.s.dirBlockAt(f.in, n.block(i))
		if err != nil {
			return false, err
		}
		found := false
		if levels == 0 {
			found, err = f.block(d)
		} else if child, e := f.s.parseIndex(f.in, d); e != nil {
			err = e
		} else {
			found, err = f.below(child, levels-1, hash)
		}
		if found || err != nil {
			return found, err
		}
		if i+1 < n.count() && n.hash(i+1)&^1 != hash {
			break
		}
	}
	return false, nil
}
