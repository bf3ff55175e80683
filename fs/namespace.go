package fs

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"encfs/fs/store"
	"encfs/keys"
	"encfs/workqueue"
)

// A DirEntry is an entry of a directory under its plain name.
type DirEntry struct {
	Name string
	Ino  uint64
	Type uint32 // S_IFMT bits; 0 when only Lookup can tell

	sealed []byte // the encrypted name; nil where it is bad
	bad    bool   // the name does not decode
}

// Lookup finds an entry of a directory.
func (v *Volume) Lookup(dir *Inode, name string) (*Inode, Attr, error) {
	n, err := v.naming(dir)
	if err != nil {
		return nil, Attr{}, err
	}
	if n.locked {
		return v.lookupLocked(dir, name)
	}
	ct, err := n.seal(name)
	if err != nil {
		return nil, Attr{}, err
	}
	if n.cases != store.CaseSensitive {
		return v.lookupFolded(dir, n, name, ct)
	}
	i, a, err := v.lookup(dir, ct)
	if lower, ok := v.badName(name, err); ok {
		return v.lookupBad(dir, lower)
	}
	return i, a, err
}

// lookup is Lookup by the encrypted name.
func (v *Volume) lookup(dir *Inode, ct []byte) (*Inode, Attr, error) {
	node, attr, err := v.store.Lookup(dir.node, ct)
	if err != nil {
		return nil, Attr{}, v.report(err)
	}
	return v.found(dir, node, attr)
}

// LookupEntry is Lookup of an entry that ReadDir gave, and goes by the name as it is
// stored.
func (v *Volume) LookupEntry(dir *Inode, e DirEntry) (*Inode, Attr, error) {
	if e.bad {
		return v.lookupBad(dir, strings.TrimSuffix(e.Name, badSuffix))
	}
	return v.lookup(dir, e.sealed)
}

// found returns the inode of a node that was looked up in a directory, with one
// reference more.
func (v *Volume) found(dir *Inode, node store.Node, attr Attr) (*Inode, Attr, error) {
	if err := v.checkChild(dir, node, attr.Mode); err != nil {
		v.store.Release(node, 1)
		return nil, Attr{}, v.report(err)
	}
	i := v.inode(node, attr.Mode)
	var err error
	if i.isOpen() {
		attr, err = v.Attr(i) // the size may have been one in the middle of a change
	} else {
		i.told.CompareAndSwap(-1, attr.Size)
		attr, err = v.plainAttr(i, attr)
	}
	if err != nil {
		v.Release(i, 1)
		return nil, Attr{}, err
	}
	return i, attr, nil
}

// ReadDir returns the entries of a directory, without "." and "..". Entries
// whose names do not decrypt to something that can be a name are left out, unless
// Options.ShowBad is set, and logged once. Without the key of a directory in a
// file system the names are no-key names.
func (v *Volume) ReadDir(dir *Inode) ([]DirEntry, error) { return v.readDirUntil(dir, nil) }

// readDirUntil is ReadDir that gives up when cancel is closed, with an error that
// wraps workqueue.ErrCanceled.
func (v *Volume) readDirUntil(dir *Inode, cancel <-chan struct{}) ([]DirEntry, error) {
	entries, bad, err := v.readDirAll(dir, cancel)
	for _, err := range bad {
		v.report(err) // the store has said the others
	}
	return entries, err
}

// ReadDirAll is ReadDir, and says in bad what is wrong with each entry whose name
// cannot be shown, instead of logging it.
func (v *Volume) ReadDirAll(dir *Inode) (entries []DirEntry, bad []error, err error) {
	return v.readDirAll(dir, nil)
}

func (v *Volume) readDirAll(dir *Inode, cancel <-chan struct{}) (entries []DirEntry, bad []error, err error) {
	n, err := v.naming(dir)
	if err != nil {
		return nil, nil, err
	}
	stored, err := v.store.ReadDir(dir.node)
	if err != nil {
		return nil, nil, v.report(err)
	}
	entries = make([]DirEntry, 0, len(stored))
	for _, e := range stored {
		if isClosed(cancel) {
			return nil, nil, workqueue.ErrCanceled
		}
		name, err := n.show(e)
		if err != nil {
			lower := join(dir.node.String(), e.Lower)
			if e.Err == nil {
				err = &store.DamagedError{Path: lower, Detail: "name does not decode: " + err.Error()}
			} else if _, ok := errors.AsType[*store.DamagedError](err); !ok {
				err = fmt.Errorf("fs: %s: %w", lower, err)
			}
			bad = append(bad, err)
			if v.opts.ShowBad && v.lowers != nil {
				entries = append(entries, DirEntry{Name: e.Lower + badSuffix, Ino: e.Ino, Type: e.Type, bad: true})
			}
			continue
		}
		entries = append(entries, DirEntry{Name: name, Ino: e.Ino, Type: e.Type, sealed: e.Name})
	}
	return entries, bad, nil
}

func join(dir, lower string) string {
	if dir == "." || dir == "" {
		return lower
	}
	return dir + "/" + lower
}

// Attr returns the attributes of an inode.
func (v *Volume) Attr(i *Inode) (Attr, error) {
	// Not while the contents change: the store may go through other sizes.
	i.mu.RLock()
	defer i.mu.RUnlock()
	if i.file != nil {
		return i.file.Attr()
	}
	attr, err := v.store.Attr(i.node)
	if err != nil {
		return Attr{}, v.report(err)
	}
	i.told.Store(attr.Size)
	return v.plainAttr(i, attr)
}

// plainAttr turns stored attributes into those of the plain object. A symbolic
// link whose target does not decrypt keeps the stored size, so that it can still
// be listed and removed.
func (v *Volume) plainAttr(i *Inode, attr Attr) (Attr, error) {
	if i.typ != store.ModeSymlink {
		return attr, nil
	}
	target, err := v.Readlink(i)
	if err == nil {
		attr.Size = int64(len(target))
	} else if _, ok := errors.AsType[*store.DamagedError](err); !ok {
		return attr, err
	}
	return attr, nil
}

// Readlink returns the target of a symbolic link.
func (v *Volume) Readlink(i *Inode) (string, error) {
	if i.typ != store.ModeSymlink {
		return "", syscall.EINVAL
	}
	if t := i.target.Load(); t != nil {
		return *t, nil
	}
	target, err := v.readlink(i)
	if err != nil {
		return "", v.report(err)
	}
	i.target.Store(&target)
	return target, nil
}

func (v *Volume) readlink(i *Inode) (string, error) {
	raw, err := v.store.Context(i.node)
	if err != nil {
		return "", err
	}
	ct, err := v.store.Readlink(i.node)
	if err != nil {
		return "", err
	}
	n, err := v.newNaming(i.node, raw)
	if err != nil {
		return "", err
	}
	target, err := n.target(ct)
	if err != nil {
		return "", &store.DamagedError{Path: i.node.String(), Detail: "target does not decrypt: " + err.Error()}
	}
	return target, nil
}

// Owner is who a new object belongs to; see store.Owner.
type Owner = store.Owner

// AnyOwner leaves the owner to the store.
var AnyOwner = Owner{UID: -1, GID: -1}

// writable returns the store for a change of names in a directory, and the
// encrypted name.
func (v *Volume) writable(dir *Inode, name string) (store.Writer, []byte, error) {
	if v.writer == nil {
		return nil, nil, syscall.EROFS
	}
	ct, err := v.seal(dir, name)
	return v.writer, ct, err
}

// Create makes an empty regular file and opens it for writing, as Open does.
func (v *Volume) Create(dir *Inode, name string, mode uint32, owner Owner) (*Inode, Attr, error) {
	defer dir.changes.Add(1)
	w, ct, err := v.writable(dir, name)
	if err != nil {
		return nil, Attr{}, err
	}
	node, attr, f, err := w.Create(dir.node, ct, mode, owner)
	if err != nil {
		return nil, Attr{}, v.report(err)
	}
	i := v.inode(node, attr.Mode)
	if err := v.created(i, f); err != nil {
		v.Release(i, 1)
		return nil, Attr{}, err
	}
	return i, attr, nil
}

// Mkdir makes a directory with the policy of the one that holds it.
func (v *Volume) Mkdir(dir *Inode, name string, mode uint32, owner Owner) (*Inode, Attr, error) {
	defer dir.changes.Add(1)
	w, ct, err := v.writable(dir, name)
	if err != nil {
		return nil, Attr{}, err
	}
	policy, err := v.policyOf(dir)
	if err != nil {
		return nil, Attr{}, err
	}
	node, attr, err := w.Mkdir(dir.node, ct, mode, owner, newContext(policy))
	if err != nil {
		return nil, Attr{}, v.report(err)
	}
	return v.inode(node, attr.Mode), attr, nil
}

// policyOf returns the policy of a directory. What is made in it inherits it.
func (v *Volume) policyOf(dir *Inode) (keys.Policy, error) {
	raw, err := v.store.Context(dir.node)
	if err != nil {
		return keys.Policy{}, v.report(err)
	}
	ctx, err := keys.ParseContext(raw)
	return ctx.Policy, err
}

// Symlink makes a symbolic link.
func (v *Volume) Symlink(dir *Inode, name, target string, owner Owner) (*Inode, Attr, error) {
	defer dir.changes.Add(1)
	w, ct, err := v.writable(dir, name)
	if err != nil {
		return nil, Attr{}, err
	}
	if target == "" {
		return nil, Attr{}, syscall.ENOENT
	}
	policy, err := v.policyOf(dir)
	if err != nil {
		return nil, Attr{}, err
	}
	raw := newContext(policy)
	names, err := v.newNames(dir.node, raw)
	if err != nil {
		return nil, Attr{}, err
	}
	sealed, err := names.Encrypt([]byte(target), targetMax)
	if err != nil {
		return nil, Attr{}, syscall.ENAMETOOLONG
	}
	node, attr, err := w.Symlink(dir.node, ct, sealed, owner, raw)
	if err != nil {
		return nil, Attr{}, v.report(err)
	}
	i := v.inode(node, attr.Mode)
	i.target.Store(&target)
	attr.Size = int64(len(target))
	return i, attr, nil
}

// Mknod makes a device, a FIFO, a socket or an empty regular file.
func (v *Volume) Mknod(dir *Inode, name string, mode uint32, rdev uint64, owner Owner) (*Inode, Attr, error) {
	if typ := mode & store.ModeType; typ == store.ModeRegular || typ == 0 {
		i, attr, err := v.Create(dir, name, mode, owner)
		if err != nil {
			return nil, Attr{}, err
		}
		if err := v.CloseFile(i); err != nil {
			v.Release(i, 1)
			return nil, Attr{}, err
		}
		return i, attr, nil
	}
	defer dir.changes.Add(1)
	w, ct, err := v.writable(dir, name)
	if err != nil {
		return nil, Attr{}, err
	}
	node, attr, err := w.Mknod(dir.node, ct, mode, rdev, owner)
	if err != nil {
		return nil, Attr{}, v.report(err)
	}
	return v.inode(node, attr.Mode), attr, nil
}

// Link makes another name for an inode that is not a directory, and returns the
// inode with one reference more.
func (v *Volume) Link(i, dir *Inode, name string) (Attr, error) {
	defer dir.changes.Add(1)
	w, ct, err := v.writable(dir, name)
	if err != nil {
		return Attr{}, err
	}
	attr, err := w.Link(i.node, dir.node, ct)
	if err != nil {
		return Attr{}, v.report(err)
	}
	_, attr, err = v.found(dir, i.node, attr)
	return attr, err
}

// Unlink removes a name of an inode that is not a directory.
func (v *Volume) Unlink(dir *Inode, name string) error {
	defer dir.changes.Add(1)
	w, ct, err := v.writable(dir, name)
	if err != nil {
		return err
	}
	err = w.Unlink(dir.node, ct)
	if lower, ok := v.badName(name, err); ok {
		err = v.lowers.UnlinkLower(dir.node, lower)
	}
	return v.report(err)
}

// Rmdir removes an empty directory.
func (v *Volume) Rmdir(dir *Inode, name string) error {
	defer dir.changes.Add(1)
	w, ct, err := v.writable(dir, name)
	if err != nil {
		return err
	}
	err = w.Rmdir(dir.node, ct)
	if lower, ok := v.badName(name, err); ok {
		err = v.lowers.RmdirLower(dir.node, lower)
	}
	return v.report(err)
}

// Rename moves a name, with the flags of renameat2(2). As in the kernel it fails
// with EXDEV between directories of different policies: the target of a symbolic
// link is encrypted under that of its directory.
func (v *Volume) Rename(oldDir *Inode, oldName string, newDir *Inode, newName string, flags uint) error {
	defer oldDir.changes.Add(1)
	defer newDir.changes.Add(1)
	w, oldCT, err := v.writable(oldDir, oldName)
	if err != nil {
		return err
	}
	newCT, err := v.seal(newDir, newName)
	if err != nil {
		return err
	}
	if newDir != oldDir {
		from, err := v.policyOf(oldDir)
		if err != nil {
			return err
		}
		to, err := v.policyOf(newDir)
		if err != nil {
			return err
		}
		if from.Filenames != to.Filenames || from.Flags != to.Flags {
			return syscall.EXDEV
		}
	}
	err = w.Rename(oldDir.node, oldCT, newDir.node, newCT, flags)
	if lower, ok := v.badName(oldName, err); ok {
		err = v.lowers.RenameLower(oldDir.node, lower, newDir.node, newCT, flags)
	}
	return v.report(err)
}

// SetAttr changes attributes of an inode other than its size, which is
// Truncate's.
func (v *Volume) SetAttr(i *Inode, set store.SetAttr) error {
	if v.writer == nil {
		return syscall.EROFS
	}
	return v.report(v.writer.SetAttr(i.node, set))
}

// SyncDir returns when the entries of a directory are on stable storage.
func (v *Volume) SyncDir(dir *Inode) error {
	if v.writer == nil {
		return nil
	}
	return v.report(v.writer.SyncDir(dir.node))
}

// badSuffix is what an entry has behind its lower name, in place of a plain name,
// where that does not decode and Options.ShowBad is set. It can then be read, if
// its header is sound, renamed, and removed.
const badSuffix = " (undecodable)"

// badName returns the lower name in a name made with badSuffix, and whether to
// look for it, now that looking for the name itself gave err.
func (v *Volume) badName(name string, err error) (lower string, ok bool) {
	if !v.opts.ShowBad || v.lowers == nil || Errno(err) != syscall.ENOENT {
		return "", false
	}
	return strings.CutSuffix(name, badSuffix)
}

func (v *Volume) lookupBad(dir *Inode, lower string) (*Inode, Attr, error) {
	node, attr, err := v.lowers.LookupLower(dir.node, lower)
	if err != nil {
		return nil, Attr{}, v.report(err)
	}
	return v.found(dir, node, attr)
}
