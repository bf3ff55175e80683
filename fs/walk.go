package fs

import (
	"strings"
	"syscall"
)

// Walk finds an inode by its path, relative to the root, slash-separated and
// without ".." in it. Symbolic links are not followed. The caller releases the
// inode.
func (v *Volume) Walk(path string) (*Inode, Attr, error) {
	i := v.root
	attr, err := v.Attr(i)
	if err != nil {
		return nil, Attr{}, err
	}
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." {
			continue
		}
		if name == ".." {
			v.Release(i, 1)
			return nil, Attr{}, syscall.EINVAL
		}
		next, a, err := v.Lookup(i, name)
		v.Release(i, 1)
		if err != nil {
			return nil, Attr{}, err
		}
		i, attr = next, a
	}
	return i, attr, nil
}
