package fs

import (
	"errors"
	"slices"
	"sync"
	"syscall"

	"encfs/fs/casefold"
	"encfs/fs/store"
)

// Directories of a file system may be casefolded: a name is then found by other
// spellings of it, too. What is looked for is mostly spelt as it is stored. Only
// where it is not, all names of the directory are folded, once for those that are
// used.

// lookupFolded finds an entry of a casefolded directory. ct is how the name would
// be stored.
func (v *Volume) lookupFolded(dir *Inode, n *naming, name string, ct []byte) (*Inode, Attr, error) {
	folded, ok := casefold.Fold(name)
	if !ok && n.cases == store.CaseFoldedStrict {
		return nil, Attr{}, syscall.EINVAL
	}
	i, a, err := v.lookup(dir, ct)
	if err == nil || !ok || !mayBeSpeltOtherwise(err) {
		return i, a, err
	}
	stored, listErr := v.folded.find(v, dir, n, folded)
	if listErr != nil {
		return nil, Attr{}, v.report(listErr)
	}
	if stored == nil {
		return nil, Attr{}, err
	}
	return v.lookup(dir, stored)
}

// mayBeSpeltOtherwise reports whether the error of a lookup leaves open that there
// is such an entry: it is not there, or only perhaps, as something is damaged.
func mayBeSpeltOtherwise(err error) bool {
	_, damaged := errors.AsType[*store.DamagedError](err)
	return damaged || Errno(err) == syscall.ENOENT
}

const (
	// foldedListsMax is how many directories have their folded names kept.
	foldedListsMax = 4
	// foldedNamesMax is how many names a directory has at most whose folded names
	// are kept.
	foldedNamesMax = 1 << 17
)

// foldedNames keeps the folded names of the directories in which another spelling
// was looked for last. The zero value is ready for use, also concurrently.
type foldedNames struct {
	mu    sync.Mutex
	lists []*foldedList // the one used last at the end, guarded by mu
}

// A foldedList leads from the folded names of a directory to the stored ones. It
// is made by who needs it first, and does not change: nobody writes to a file
// system.
type foldedList struct {
	node   store.Node
	once   sync.Once
	stored map[string][]byte
	err    error
}

// find returns the stored name of the entry whose name folds to this, nil if there
// is none. Of several it is the first in the store's order.
func (f *foldedNames) find(v *Volume, dir *Inode, n *naming, folded string) ([]byte, error) {
	l := f.list(dir.node)
	l.once.Do(func() { l.stored, l.err = v.foldNames(dir, n) })
	if l.err != nil || len(l.stored) > foldedNamesMax {
		f.drop(l)
	}
	return l.stored[folded], l.err
}

// list returns the list of a directory, perhaps one that is still to be made.
func (f *foldedNames) list(node store.Node) *foldedList {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := &foldedList{node: node}
	if i := slices.IndexFunc(f.lists, func(l *foldedList) bool { return l.node == node }); i >= 0 {
		l = f.lists[i]
		f.lists = slices.Delete(f.lists, i, i+1)
	}
	if len(f.lists) == foldedListsMax {
		f.lists = slices.Delete(f.lists, 0, 1)
	}
	f.lists = append(f.lists, l)
	return l
}

func (f *foldedNames) drop(l *foldedList) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lists = slices.DeleteFunc(f.lists, func(have *foldedList) bool { return have == l })
}

// foldNames folds all names of a directory. Those that cannot be folded are found
// by their own bytes only.
func (v *Volume) foldNames(dir *Inode, n *naming) (map[string][]byte, error) {
	entries, err := v.store.ReadDir(dir.node)
	if err != nil {
		return nil, err
	}
	stored := make(map[string][]byte, len(entries))
	for _, e := range entries {
		name, err := n.show(e)
		if err != nil {
			continue // which ReadDir reports
		}
		folded, ok := casefold.Fold(name)
		if _, double := stored[folded]; ok && !double {
			stored[folded] = e.Name
		}
	}
	return stored, nil
}
