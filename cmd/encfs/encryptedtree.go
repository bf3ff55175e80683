package main

import (
	"errors"
	"math"
	"path"

	"encfs/fs"
	"encfs/fs/store"
	"encfs/keys"
)

// An encryptedTree is the top of what has a policy in an image: a directory that is
// encrypted in one that is not, or a file that was moved out of one.
type encryptedTree struct {
	path   string
	policy keys.Policy
	err    error // what is wrong with the policy
}

// A treeSearch says where in an image to look for what is encrypted. The zero value
// is everywhere, but for files.
type treeSearch struct {
	directories int  // at most so many, those near the root first; 0 is all
	files       bool // files, too, each of which has to be looked at then
}

// encryptedTrees calls f for the tops of what is encrypted in an image until it
// returns false. It goes through directories that are not encrypted, and returns
// what cannot be read of them.
func encryptedTrees(v *fs.Volume, search treeSearch, f func(encryptedTree) bool) error {
	limit := search.directories
	if limit == 0 {
		limit = math.MaxInt
	}
	var errs []error
	queue := []string{"/"}
	for seen := 0; len(queue) > 0 && seen < limit; seen++ {
		dir := queue[0]
		queue = queue[1:]
		below, goOn, err := search.look(v, dir, f)
		if err != nil {
			errs = append(errs, plainError(dir, err))
		}
		if !goOn {
			break
		}
		queue = append(queue, below...)
	}
	return errors.Join(errs...)
}

// look calls f for a directory, or for what is encrypted right in it. It returns the
// directories below one that is not encrypted, and whether f wants more.
func (s treeSearch) look(v *fs.Volume, dir string, f func(encryptedTree) bool) (below []string, goOn bool, err error) {
	i, a, err := v.Walk(dir)
	if err != nil {
		return nil, true, err
	}
	defer v.Release(i, 1)
	if a.Mode&store.ModeType != store.ModeDir {
		return nil, true, nil
	}
	if policy, encrypted, err := v.PolicyOf(i); encrypted || err != nil {
		return nil, f(encryptedTree{dir, policy, err}), nil
	}
	entries, err := v.ReadDir(i)
	for _, e := range entries {
		name := path.Join(dir, e.Name)
		switch {
		case e.Type == store.ModeDir || e.Type == 0:
			below = append(below, name)
		case s.files && e.Type == store.ModeRegular:
			if !lookAtFile(v, i, e.Name, name, f) {
				return nil, false, err
			}
		}
	}
	return below, true, err
}

// lookAtFile calls f for a file if it is encrypted, and returns whether f wants more.
func lookAtFile(v *fs.Volume, dir *fs.Inode, name, p string, f func(encryptedTree) bool) bool {
	i, _, err := v.Lookup(dir, name)
	if err != nil {
		return true
	}
	defer v.Release(i, 1)
	policy, encrypted, err := v.PolicyOf(i)
	return !encrypted && err == nil || f(encryptedTree{p, policy, err})
}
