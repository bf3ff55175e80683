package fs

import (
	"errors"
	"fmt"
	"syscall"

	"encfs/decrypt"
	"encfs/fs/store"
	"encfs/keys"
)

// A volume on a file system, in which each object has a policy of its own or none,
// does here what is different from a tree with one policy. It behaves as the
// kernel does, with and without keys.

// checkSystemPolicy returns an error for a policy that nothing in this file system
// can have.
func (v *Volume) checkSystemPolicy(p keys.Policy) error {
	if err := p.Validate(); err != nil {
		return err
	}
	if size := v.unitSize(p); size > v.system.BlockSize() {
		return fmt.Errorf("%w: data units of %d bytes with blocks of %d", keys.ErrUnsupportedPolicy, size, v.system.BlockSize())
	}
	return nil
}

// unitSize returns the data unit size under a policy, in bytes.
func (v *Volume) unitSize(p keys.Policy) int {
	switch {
	case v.system == nil:
		return unitSize
	case p.Log2DataUnitSize == 0:
		return v.system.BlockSize()
	}
	return 1 << p.Log2DataUnitSize
}

// place returns where a node is, which matters in file systems only.
func (v *Volume) place(node store.Node) keys.Place {
	if v.system == nil {
		return keys.Place{}
	}
	return keys.Place{UUID: v.system.UUID(), Ino: v.system.Ino(node)}
}

// openStored opens a regular file of the store, and returns its data unit size
// too.
func (v *Volume) openStored(node store.Node, write bool) (store.File, int, error) {
	if v.system == nil {
		f, err := v.store.Open(node, write)
		return f, unitSize, err
	}
	raw, err := v.system.Context(node)
	if err != nil {
		return nil, 0, err
	}
	size := v.system.BlockSize()
	if raw != nil {
		ctx, err := v.context(node, raw)
		if err != nil {
			return nil, 0, err
		}
		size = v.unitSize(ctx.Policy)
	}
	f, err := v.system.OpenUnits(node, size)
	return f, size, err
}

// systemNaming is newNaming in a file system. Without the key, names are shown as
// no-key names; so are those under a context that makes no sense, so that they can
// be seen at all.
func (v *Volume) systemNaming(node store.Node, raw []byte) (*naming, error) {
	if raw == nil {
		return &naming{}, nil
	}
	ctx, err := v.context(node, raw)
	if err != nil {
		v.report(err)
		return &naming{locked: true}, nil
	}
	names, err := v.newNames(node, raw)
	if errors.Is(err, keys.ErrNoKey) {
		v.missing(ctx.Policy)
		return &naming{locked: true, policy: &ctx.Policy}, nil
	}
	return &naming{names: names, policy: &ctx.Policy}, err
}

// missing logs once that there is no key for a policy.
func (v *Volume) missing(p keys.Policy) {
	key := p.Identifier.String()
	if p.Version == 1 {
		key = p.Descriptor.String()
	}
	if v.reported.first("key "+key, "") {
		v.opts.Log.Warn("no key: names are shown encrypted, and files cannot be opened", "key", key)
	}
}

// PolicyOf returns the encryption policy of an inode, and whether it has one. One
// that is damaged or not supported is a store.DamagedError.
func (v *Volume) PolicyOf(i *Inode) (p keys.Policy, encrypted bool, err error) {
	raw, err := v.store.Context(i.node)
	if raw == nil || err != nil {
		return p, false, v.report(err)
	}
	ctx, err := v.context(i.node, raw)
	return ctx.Policy, err == nil, v.report(err)
}

// CheckKey returns an error that wraps keys.ErrNoKey, and names the key, if a
// directory or symbolic link, in a file system also a regular file, is encrypted with a
// key that is not there. The names in the directory are no-key names then, and so is
// the target of the link.
func (v *Volume) CheckKey(i *Inode) error {
	p, encrypted, err := v.PolicyOf(i)
	if err != nil || !encrypted {
		return err
	}
	_, err = v.ring.Find(p)
	return err
}

// lookupLocked finds an entry by its no-key name.
func (v *Volume) lookupLocked(dir *Inode, name string) (*Inode, Attr, error) {
	k, err := decrypt.ParseNoKeyName(name)
	if err != nil {
		return nil, Attr{}, syscall.ENOENT
	}
	if k.Digest == nil && k.Hash == 0 {
		return v.lookup(dir, k.Ciphertext)
	}
	node, attr, err := v.system.LookupHash(dir.node, k.Hash, k.Matches)
	if err != nil {
		return nil, Attr{}, v.report(err)
	}
	return v.found(dir, node, attr)
}

// checkChild returns a DamagedError for an object in an encrypted directory of a
// file system that does not have the policy of the directory. The kernel keeps
// such from coming about, see fscrypt_has_permitted_context in fs/crypto/policy.c,
// so that somebody else has put it there.
func (v *Volume) checkChild(dir *Inode, node store.Node, mode uint32) error {
	if v.system == nil {
		return nil
	}
	switch mode & store.ModeType {
	case store.ModeRegular, store.ModeDir, store.ModeSymlink:
	default:
		return nil // which have no contexts
	}
	n, err := v.naming(dir)
	if err != nil || n.policy == nil {
		return err
	}
	raw, err := v.store.Context(node)
	if err != nil {
		return err
	}
	if raw == nil {
		return &store.DamagedError{Path: node.String(), Detail: "is not encrypted in an encrypted directory, " + dir.String()}
	}
	ctx, err := v.context(node, raw)
	if err == nil && ctx.Policy != *n.policy {
		err = &store.DamagedError{Path: node.String(), Detail: "has another encryption policy than its directory, " + dir.String()}
	}
	return err
}
