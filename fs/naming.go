package fs

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"

	"encfs/decrypt"
	"encfs/fs/store"
	"encfs/keys"
)

// A naming is how the names in a directory, or the target of a symbolic link, are
// stored: encrypted, or as they are if it is the zero naming. It is immutable.
type naming struct {
	names  *decrypt.Names // nil: not encrypted, or locked
	locked bool           // encrypted, and without the key
	policy *keys.Policy   // of a directory in a file system, if it has a sound one
	cases  store.Case     // of a directory
}

// seal returns how a name is stored. The naming is not locked.
func (n *naming) seal(name string) ([]byte, error) {
	if err := decrypt.ValidName([]byte(name)); err != nil {
		return nil, syscall.EINVAL
	}
	if n.names == nil {
		if len(name) > NameMax {
			return nil, syscall.ENAMETOOLONG
		}
		return []byte(name), nil
	}
	ct, err := n.names.Encrypt([]byte(name), NameMax)
	if err != nil {
		return nil, syscall.ENAMETOOLONG
	}
	return ct, nil
}

// show returns the name of an entry, checked that it can be one and that it leads
// back to the entry: a lookup seals the name that is shown.
func (n *naming) show(e store.Dirent) (string, error) {
	switch {
	case e.Err != nil:
		return "", e.Err
	case n.locked && len(e.Name) < decrypt.MinNameSize:
		return "", fmt.Errorf("%d bytes are too few for an encrypted name", len(e.Name))
	case n.locked:
		return decrypt.NoKeyName(e.Hash, e.Minor, e.Name), nil
	case n.names == nil:
		return string(e.Name), decrypt.ValidName(e.Name)
	}
	name, err := n.names.Decrypt(e.Name)
	if err == nil {
		err = decrypt.ValidName(name)
	}
	if err != nil {
		return "", err
	}
	if ct, err := n.names.Encrypt(name, NameMax); err != nil || !bytes.Equal(ct, e.Name) {
		return "", errors.New("is not how the name that it decrypts to is encrypted")
	}
	return string(name), nil
}

// target returns the target of a symbolic link from what is stored.
func (n *naming) target(stored []byte) (string, error) {
	switch {
	case n.locked && len(stored) < decrypt.MinNameSize:
		return "", fmt.Errorf("%d bytes are too few for an encrypted target", len(stored))
	case n.locked:
		return decrypt.NoKeyName(0, 0, stored), nil
	case n.names == nil:
		return string(stored), nil
	}
	target, err := n.names.Decrypt(stored)
	return string(target), err
}

// newNaming returns how names or a target under a stored context are stored.
func (v *Volume) newNaming(node store.Node, raw []byte) (*naming, error) {
	if v.system != nil {
		return v.systemNaming(node, raw)
	}
	names, err := v.newNames(node, raw)
	if err != nil {
		return nil, err
	}
	return &naming{names: names}, nil
}
