package ext4

import "math"

// A run is some blocks of a file, one after the other in the image too unless
// they are a hole, which unwritten blocks are as well.
type run struct {
	physical uint64 // the first block; 0 for a hole
	blocks   uint64
}

func (r run) isHole() bool { return r.physical == 0 }

// mapBlock returns where the contents of a file are from a block of it on: for at
// least one block, and not necessarily for as many as it could. It allocates
// nothing if the blocks that it needs are in the cache. The caller looks for
// inline data before.
func (s *Store) mapBlock(in *inode, logical uint64) (run, error) {
	if in.isFlag(flagExtents) {
		return s.mapExtent(in, logical)
	}
	return s.mapPointer(in, logical)
}

// holeFrom returns the hole from a block on to the end of what can be mapped.
func holeFrom(logical uint64) run { return run{blocks: math.MaxUint64 - logical} }
