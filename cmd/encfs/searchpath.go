package main

import (
	"path/filepath"
	"slices"
	"strings"
)

// programDirs are where fusermount3 and other programs are looked for last.
var programDirs = []string{"/usr/local/bin", "/usr/bin", "/bin"}

// searchPath returns a PATH with programDirs behind what it has: mount(8) gives
// helpers an empty one, say.
func searchPath(path string) string {
	var dirs []string
	if path != "" {
		dirs = filepath.SplitList(path)
	}
	for _, dir := range programDirs {
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, string(filepath.ListSeparator))
}
