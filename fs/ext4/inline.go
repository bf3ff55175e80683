package ext4

import "iter"

// The extended attribute with what of a file's inline data does not fit into
// i_block.
const (
	inlineIndex = 7
	inlineName  = "data"
)

// inlineParts returns the two places that inline data has in the inode.
func (s *Store) inlineParts(in *inode) (head, tail []byte, err error) {
	if !s.sb.incompat.has(incompatInlineData) {
		return nil, nil, in.damaged("has inline data, which the file system has not")
	}
	region, err := in.xattrs()
	if err != nil {
		return nil, nil, err
	}
	e, ok, err := region.find(in, inlineIndex, inlineName)
	if err != nil {
		return nil, nil, err
	}
	if ok {
		if tail, err = region.value(in, e); err != nil {
			return nil, nil, err
		}
	}
	return in.block[:], tail, nil
}

// inlineData returns the inline data of a file, as long as its size.
func (s *Store) inlineData(in *inode) ([]byte, error) {
	head, tail, err := s.inlineParts(in)
	if err != nil {
		return nil, err
	}
	data := append(append([]byte(nil), head...), tail...)
	size := s.size(in)
	if size > int64(len(data)) {
		return nil, in.damaged("size is %d with %d bytes of inline data", size, len(data))
	}
	return data[:size], nil
}

// inlineDirBlocks is dirBlocks for a directory with inline data: the number of
// the directory above, then entries, and more of them in the other place.
func (s *Store) inlineDirBlocks(in *inode) iter.Seq2[dirBlock, error] {
	const parentSize = 4
	return func(yield func(dirBlock, error) bool) {
		head, tail, err := s.inlineParts(in)
		if err != nil {
			yield(dirBlock{inline: true}, err)
			return
		}
		for i, part := range [][]byte{head[parentSize:], tail} {
			if !yield(dirBlock{nr: uint64(i), inline: true, data: part}, nil) {
				return
			}
		}
	}
}
