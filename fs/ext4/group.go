package ext4

import "fmt"

// group returns the descriptor of a block group, which exists.
func (s *Store) group(g uint32) (groupDesc, error) {
	size := uint32(s.sb.descSize)
	perBlock := uint32(s.dev.blockSize) / size
	nr := s.descBlock(g/perBlock, perBlock)
	name := fmt.Sprintf("group %d", g)
	if !s.dev.has(nr, 1) {
		return groupDesc{}, damaged(name, "its descriptor is in block %d of %d", nr, s.dev.blocks)
	}
	b, err := s.cache.block(nr)
	if err != nil {
		return groupDesc{}, err
	}
	raw := b.data[g%perBlock*size:][:size]
	d := decodeGroupDesc(raw)
	if sum, has := s.groupChecksum(g, raw); has && sum != d.checksum {
		return d, damaged(name, "checksum of the descriptor in block %d is %04x, but computes to %04x", nr, d.checksum, sum)
	}
	return d, nil
}

// descBlock returns the number of a block of the table of descriptors, the k'th,
// as descriptor_loc in fs/ext4/super.c computes it.
func (s *Store) descBlock(k, perBlock uint32) uint64 {
	sb := &s.sb
	super := uint64(superblockOffset / s.dev.blockSize)
	if !sb.incompat.has(incompatMetaBG) || k < sb.firstMetaBG {
		return super + 1 + uint64(k)
	}
	first := uint64(k) * uint64(perBlock) // the group whose first blocks hold it
	nr := uint64(sb.firstData) + first*uint64(sb.blocksPerGroup)
	if sb.hasCopy(first) {
		nr++
	}
	if k == 0 && super > uint64(sb.firstData) {
		nr++ // 1 KiB blocks that are counted from 0: the superblock is in the second
	}
	return nr
}

// hasCopy reports whether a group begins with the superblock or a copy of it.
func (sb *superblock) hasCopy(group uint64) bool {
	switch {
	case group == 0:
		return true
	case sb.compat&compatSparseSuper2 != 0:
		return group == uint64(sb.backupGroups[0]) || group == uint64(sb.backupGroups[1])
	case group == 1 || sb.roCompat&roCompatSparseSuper == 0:
		return true
	}
	for _, base := range []uint64{3, 5, 7} {
		power := base
		for power < group {
			power *= base
		}
		if power == group {
			return true
		}
	}
	return false
}

// groupChecksum computes the checksum of a descriptor, if descriptors have
// one.
func (s *Store) groupChecksum(g uint32, raw []byte) (sum uint16, has bool) {
	head, tail := raw[:groupChecksum], raw[groupChecksum+2:]
	switch {
	case s.sb.hasChecksums():
		c := crc32c(crc32cLE32(s.seed, g), head)
		return uint16(crc32c(crc32c(c, []byte{0, 0}), tail)), true
	case s.sb.roCompat&roCompatGDTCsum != 0:
		var number [4]byte
		le.PutUint32(number[:], g)
		c := crc16(crc16(0xFFFF, s.sb.uuid[:]), number[:])
		return crc16(crc16(c, head), tail), true
	}
	return 0, false
}
