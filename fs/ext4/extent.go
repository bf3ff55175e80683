package ext4

import (
	"fmt"
	"sort"
)

// extentLogicalMax is how many blocks a file with extents can have.
const extentLogicalMax = 1 << 32

// An extentNode is a node of an extent tree: the root in the inode, or a block.
type extentNode struct {
	extentHeader
	entries []byte // as many as there are, 12 bytes each
}

// count returns the number of entries.
func (n extentNode) count() int { return len(n.entries) / extentSize }

// entry returns the bytes of an entry.
func (n extentNode) entry(i int) []byte { return n.entries[i*extentSize:] }

// first returns the logical block that an entry begins with.
func (n extentNode) first(i int) uint64 { return uint64(le.Uint32(n.entry(i))) }

// find returns the last entry that begins at or before a block, -1 if all begin
// after it.
func (n extentNode) find(logical uint64) int {
	return sort.Search(n.count(), func(i int) bool { return n.first(i) > logical }) - 1
}

// next returns the logical block that the entry after one begins with, limit if
// there is none.
func (n extentNode) next(i int, limit uint64) uint64 {
	if i+1 < n.count() {
		return n.first(i + 1)
	}
	return limit
}

// mapExtent is mapBlock for a file with extents. A node is one level nearer to
// the leaves than its parent and within what the parent's entry stands for, so
// that no tree has cycles.
func (s *Store) mapExtent(in *inode, logical uint64) (run, error) {
	if logical >= extentLogicalMax {
		return holeFrom(logical), nil
	}
	n, problem := parseExtentNode(in.block[:])
	if problem == "" && n.depth > extentDepthMax {
		problem = fmt.Sprintf("depth is %d", n.depth)
	}
	if problem == "" {
		problem = n.check(s.dev)
	}
	if problem != "" {
		return run{}, in.damaged("extents in the inode: %s", problem)
	}
	limit := uint64(extentLogicalMax) // no entry of n reaches as far
	for n.depth > 0 {
		i := n.find(logical)
		if i < 0 {
			return run{blocks: n.next(i, limit) - logical}, nil
		}
		limit = n.next(i, limit)
		index := decodeExtentIndex(n.entry(i))
		child, err := s.extentBlock(in, index.child)
		if err != nil {
			return run{}, err
		}
		if child.depth != n.depth-1 {
			return run{}, in.damaged("extent block %d: depth is %d below %d", index.child, child.depth, n.depth)
		}
		if child.first(0) < index.logical || child.end() > limit {
			return run{}, in.damaged("extent block %d: it reaches from %d to %d, the index from %d to %d",
				index.child, child.first(0), child.end(), index.logical, limit)
		}
		n = child
	}
	i := n.find(logical)
	if i >= 0 {
		if e := decodeExtent(n.entry(i)); logical < e.logical+e.blocks {
			skip := logical - e.logical
			r := run{physical: e.physical + skip, blocks: e.blocks - skip}
			if e.unwritten {
				r.physical = 0
			}
			return r, nil
		}
	}
	return run{blocks: n.next(i, limit) - logical}, nil
}

// end returns the logical block after the last one of a checked node that has
// entries; of an inner node, as far as its own entries tell.
func (n extentNode) end() uint64 {
	last := n.entry(n.count() - 1)
	if n.depth > 0 {
		return decodeExtentIndex(last).logical + 1
	}
	e := decodeExtent(last)
	return e.logical + e.blocks
}

// extentBlock returns the node in a block, checked. It has entries.
func (s *Store) extentBlock(in *inode, nr uint64) (extentNode, error) {
	if !s.dev.has(nr, 1) {
		return extentNode{}, in.damaged("an extent block is said to be block %d of %d", nr, s.dev.blocks)
	}
	b, err := s.cache.block(nr)
	if err != nil {
		return extentNode{}, err
	}
	n, problem := parseExtentNode(b.data)
	if problem != "" {
		return n, in.damaged("extent block %d: %s", nr, problem)
	}
	return n, b.check(in.ino, checkExtents, func() error {
		if problem := s.checkExtentBlock(in, n, b.data); problem != "" {
			return in.damaged("extent block %d: %s", nr, problem)
		}
		return nil
	})
}

// checkExtentBlock says what is wrong with a node in a block, "" if nothing is.
func (s *Store) checkExtentBlock(in *inode, n extentNode, raw []byte) string {
	if s.sb.hasChecksums() {
		tail := extentSize * (1 + int(n.max))
		if tail+4 > len(raw) {
			return "no room for a checksum"
		}
		if stored, sum := le.Uint32(raw[tail:]), crc32c(s.own(in), raw[:tail]); sum != stored {
			return fmt.Sprintf("checksum is %08x, but computes to %08x", stored, sum)
		}
	}
	if n.count() == 0 {
		return "it is empty"
	}
	return n.check(s.dev)
}

// parseExtentNode returns the node that b holds, or says what is wrong with its
// header.
func parseExtentNode(b []byte) (n extentNode, problem string) {
	h := decodeExtentHeader(b)
	switch {
	case h.magic != extentMagic:
		return n, fmt.Sprintf("magic number is %04x", h.magic)
	case int(h.max) > len(b)/extentSize-1:
		return n, fmt.Sprintf("it claims room for %d entries", h.max)
	case h.entries > h.max:
		return n, fmt.Sprintf("%d entries where %d fit", h.entries, h.max)
	}
	return extentNode{h, b[extentSize:][:extentSize*int(h.entries)]}, ""
}

// check says what is wrong with the entries of a node, "" if nothing is: they
// are in order and lead into the file system.
func (n extentNode) check(dev *device) string {
	end := uint64(0) // of the entry before
	for i := range n.count() {
		if n.first(i) < end {
			return fmt.Sprintf("entry %d begins at %d, before %d", i, n.first(i), end)
		}
		if n.depth > 0 {
			end = n.first(i) + 1
			continue
		}
		e := decodeExtent(n.entry(i))
		end = e.logical + e.blocks
		if e.blocks == 0 || end > extentLogicalMax {
			return fmt.Sprintf("entry %d has %d blocks from %d on", i, e.blocks, e.logical)
		}
		if !dev.has(e.physical, e.blocks) {
			return fmt.Sprintf("entry %d has %d blocks from block %d of %d on", i, e.blocks, e.physical, dev.blocks)
		}
	}
	return ""
}
