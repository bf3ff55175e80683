package ext4

const (
	directPointers = 12
	pointerLevels  = 3 // single, double and triple indirect
)

// mapPointer is mapBlock for a file with block pointers.
func (s *Store) mapPointer(in *inode, logical uint64) (run, error) {
	if logical < directPointers {
		return s.pointerRun(in, in.block[:4*directPointers], logical)
	}
	log2 := s.dev.log2 - 2 // of the number of pointers in a block
	rest := logical - directPointers
	for level := uint(1); level <= pointerLevels; level++ {
		if rest>>(level*log2) == 0 {
			return s.mapIndirect(in, level, rest)
		}
		rest -= 1 << (level * log2)
	}
	return holeFrom(logical), nil
}

// mapIndirect maps a block below one of the indirect pointers in the inode; n is
// its number among those.
func (s *Store) mapIndirect(in *inode, level uint, n uint64) (run, error) {
	log2 := s.dev.log2 - 2
	nr := uint64(le.Uint32(in.block[4*(directPointers+level-1):]))
	for ; ; level-- {
		if nr == 0 {
			below := uint64(1) << (level * log2)
			return run{blocks: below - n&(below-1)}, nil
		}
		if !s.dev.has(nr, 1) {
			return run{}, in.damaged("an indirect block is said to be block %d of %d", nr, s.dev.blocks)
		}
		b, err := s.cache.block(nr)
		if err != nil {
			return run{}, err
		}
		i := n >> ((level - 1) * log2) & (1<<log2 - 1)
		if level == 1 {
			return s.pointerRun(in, b.data, i)
		}
		nr = uint64(le.Uint32(b.data[4*i:]))
	}
}

// pointerRun returns the run that begins with pointer i and ends with the last
// pointer at the latest.
func (s *Store) pointerRun(in *inode, pointers []byte, i uint64) (run, error) {
	first := uint64(le.Uint32(pointers[4*i:]))
	r := run{physical: first}
	for at := pointers[4*i:]; len(at) > 0; at = at[4:] {
		nr := uint64(le.Uint32(at))
		if first == 0 && nr != 0 || first != 0 && nr != first+r.blocks {
			break
		}
		r.blocks++
	}
	if first != 0 && !s.dev.has(first, r.blocks) {
		return r, in.damaged("%d of its blocks are said to begin with block %d of %d", r.blocks, first, s.dev.blocks)
	}
	return r, nil
}
