package main

import (
	"errors"
	"math"
	"slices"
	"strings"

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

// A clearDir is a directory to look into, with a reference to its inode.
type clearDir struct {
	parent *clearDir // nil: the root
	name   string
	inode  *fs.Inode
}

// path returns the path of a directory. It is made where it is wanted only: many
// directories may wait in a deep one.
func (d *clearDir) path() string {
	var names []string
	for ; d.parent != nil; d = d.parent {
		names = append(names, d.name)
	}
	slices.Reverse(names)
	return "/" + strings.Join(names, "/")
}

// encryptedTrees calls f for the tops of what is encrypted in an image until it
// returns false. It goes through directories that are not encrypted, and returns
// what cannot be read of them.
func encryptedTrees(v *fs.Volume, search treeSearch, f func(encryptedTree) bool) error {
	root, a, err := v.Walk("/")
	if err != nil {
		return plainError("/", err)
	}
	w := treeWalk{treeSearch: search, v: v, f: f, left: math.MaxInt}
	if search.directories > 0 {
		w.left = search.directories
	}
	w.add(&clearDir{inode: root}, a)
	w.walk()
	return errors.Join(w.errs...)
}

// A treeWalk is a search in progress.
type treeWalk struct {
	treeSearch
	v     *fs.Volume
	f     func(encryptedTree) bool
	queue []*clearDir
	left  int         // how many directories may still be put into the queue
	seen  fs.InodeSet // those that were
	errs  []error
}

// add puts a directory into the queue, unless it was there before.
func (w *treeWalk) add(d *clearDir, a fs.Attr) (added bool) {
	if w.left == 0 || !w.seen.Add(a) {
		return false
	}
	w.left--
	w.queue = append(w.queue, d)
	return true
}

// walk takes directories from the queue until it is empty, or f wants no more.
func (w *treeWalk) walk() {
	for goOn := true; len(w.queue) > 0; {
		d := w.queue[0]
		w.queue = w.queue[1:]
		goOn = goOn && w.look(d)
		w.v.Release(d.inode, 1)
	}
}

// look calls f for a directory, or for what is encrypted right in it, and puts the
// directories below one that is not encrypted into the queue. It returns whether f
// wants more.
func (w *treeWalk) look(d *clearDir) (goOn bool) {
	if policy, encrypted, err := w.v.PolicyOf(d.inode); encrypted || err != nil {
		return w.f(encryptedTree{d.path(), policy, err})
	}
	entries, err := w.v.ReadDir(d.inode)
	if err != nil {
		w.errs = append(w.errs, plainError(d.path(), err))
	}
	for _, e := range entries {
		if w.wants(e.Type) && !w.entry(d, e) {
			return false
		}
	}
	return true
}

// wants reports whether an entry of a type, which may be unknown, is worth a look.
func (w *treeWalk) wants(typ uint32) bool {
	isDir, isFile := typ == store.ModeDir || typ == 0, typ == store.ModeRegular || typ == 0
	return isDir && w.left > 0 || isFile && w.files
}

// entry is look for what an entry leads to.
func (w *treeWalk) entry(d *clearDir, e fs.DirEntry) (goOn bool) {
	below := &clearDir{parent: d, name: e.Name}
	i, a, err := w.v.LookupEntry(d.inode, e)
	if err != nil {
		w.errs = append(w.errs, plainError(below.path(), err))
		return true
	}
	below.inode = i
	if a.Mode&store.ModeType == store.ModeDir && w.add(below, a) {
		return true
	}
	defer w.v.Release(i, 1)
	if !w.files || a.Mode&store.ModeType != store.ModeRegular {
		return true
	}
	policy, encrypted, err := w.v.PolicyOf(i)
	return !encrypted && err == nil || w.f(encryptedTree{below.path(), policy, err})
}
