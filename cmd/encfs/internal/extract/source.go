package extract

import (
	"path"
	"slices"
)

// A source says where an object is in the source: by its path, or by its name in a
// directory. Only what is reported needs a path, and in deep trees it is long.
type source struct {
	dir  *source // nil: name is the path
	name string
}

// path returns the path in the source.
func (s source) path() string {
	names := []string{s.name}
	for at := s.dir; at != nil; at = at.dir {
		names = append(names, at.name)
	}
	slices.Reverse(names)
	return path.Join(names...)
}
