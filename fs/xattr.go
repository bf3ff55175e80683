package fs

import (
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/crypto/chacha20poly1305"

	"encfs/decrypt"
	"encfs/fs/store"
	"encfs/keys"
)

// Namespaces of extended attributes.
const (
	userPrefix    = "user."
	lowerPrefix   = "user.encfs." // of encrypted attributes in the store
	trustedPrefix = "trusted."
)

// Attributes in which POSIX ACLs are kept.
const (
	accessACL  = "system.posix_acl_access"
	defaultACL = "system.posix_acl_default"
)

// xattrNameMax is the longest encrypted attribute name, in bytes: what fits,
// in base64, the 255 bytes of a name behind the prefix.
const xattrNameMax = 183

// xattrOverhead is how much longer an encrypted value is, in bytes.
const xattrOverhead = chacha20poly1305.NonceSizeX + chacha20poly1305.Overhead

// An xattrCipher encrypts the names and values of user attributes. The name
// decides where an attribute is stored, so equal names have equal ciphertext in
// the whole tree; values are authenticated together with the name. It is safe
// for concurrent use.
type xattrCipher struct {
	names  decrypt.Cipher
	values cipher.AEAD
	pad    int
}

func newXattrCipher(mk *keys.MasterKey, padding int, drivers *decrypt.Table) (*xattrCipher, error) {
	var k [keys.DirectoryKeySize]byte
	defer clear(k[:])
	d, err := drivers.Lookup(keys.AES256CTS.Algorithm())
	if err != nil {
		return nil, err
	}
	mk.DeriveDirectory(keys.XattrNames, k[:])
	names, err := d.New(k[:])
	if err != nil {
		return nil, err
	}
	mk.DeriveDirectory(keys.XattrValues, k[:])
	values, err := chacha20poly1305.NewX(k[:])
	if err != nil {
		return nil, err
	}
	return &xattrCipher{names: names, values: values, pad: padding}, nil
}

// sealName returns the encrypted name, and the stored name, of user.NAME;
// tooLong is the error for a name that cannot be stored.
func (c *xattrCipher) sealName(name string, tooLong syscall.Errno) (ct []byte, lower string, err error) {
	name = strings.TrimPrefix(name, userPrefix)
	switch {
	case name == "":
		return nil, "", syscall.EINVAL
	case len(name) > xattrNameMax:
		return nil, "", tooLong
	}
	n := max(len(name), decrypt.MinNameSize)
	ct = make([]byte, min((n+c.pad-1)/c.pad*c.pad, xattrNameMax))
	copy(ct, name)
	var iv [16]byte
	c.names.Encrypt(ct, ct, iv[:])
	return ct, lowerPrefix + base64.RawURLEncoding.EncodeToString(ct), nil
}

// openName returns the plain name of a stored one, and whether it is one of
// ours.
func (c *xattrCipher) openName(lower string) (string, bool) {
	enc, ok := strings.CutPrefix(lower, lowerPrefix)
	if !ok {
		return "", false
	}
	ct, err := base64.RawURLEncoding.Strict().DecodeString(enc)
	if err != nil || len(ct) < decrypt.MinNameSize || len(ct) > xattrNameMax {
		return "", false
	}
	var iv [16]byte
	c.names.Decrypt(ct, ct, iv[:])
	name, _, _ := strings.Cut(string(ct), "\x00")
	if _, again, err := c.sealName(name, syscall.ERANGE); err != nil || again != lower {
		return "", false // not how the name that it decrypts to is encrypted
	}
	return userPrefix + name, true
}

// sealValue encrypts a value under an encrypted name.
func (c *xattrCipher) sealValue(value, name []byte) []byte {
	nonce := make([]byte, chacha20poly1305.NonceSizeX, len(value)+xattrOverhead)
	rand.Read(nonce)
	return c.values.Seal(nonce, nonce, value, name)
}

// openValue decrypts a stored value; the error says that it is not authentic.
func (c *xattrCipher) openValue(stored, name []byte) ([]byte, error) {
	if len(stored) < xattrOverhead {
		return nil, fmt.Errorf("%d bytes are too few", len(stored))
	}
	nonce, ct := stored[:chacha20poly1305.NonceSizeX], stored[chacha20poly1305.NonceSizeX:]
	return c.values.Open(nil, nonce, ct, name)
}

// namespace says what to do with an attribute by its name: encrypted, passed
// through to the store, or refused. Of the namespace system only ACLs pass: who
// may change those the kernel checks itself, while the rest of it, such as the
// ACLs of NFSv4, it leaves to a file system that acts as the caller.
func namespace(name string) (encrypted bool, err error) {
	switch {
	case strings.HasPrefix(name, userPrefix):
		return true, nil
	case strings.HasPrefix(name, "security."), strings.HasPrefix(name, trustedPrefix),
		name == accessACL, name == defaultACL:
		return false, nil
	}
	return false, syscall.EOPNOTSUPP
}

// namespace is the same for this volume: in a file system attributes are not
// encrypted.
func (v *Volume) namespace(name string) (encrypted bool, err error) {
	encrypted, err = namespace(name)
	return encrypted && v.system == nil, err
}

// xattrStore returns the store of an inode's attributes, if user attributes can
// be on it: as in the kernel, only on regular files and directories.
func (v *Volume) xattrStore(i *Inode, encrypted bool, refusal syscall.Errno) (store.Xattrs, error) {
	if v.xattrs == nil {
		return nil, syscall.EOPNOTSUPP
	}
	if encrypted && i.typ != store.ModeRegular && i.typ != store.ModeDir {
		return nil, refusal
	}
	return v.xattrs, nil
}

// xattrWriter is namespace and xattrStore for a change.
func (v *Volume) xattrWriter(i *Inode, name string) (w store.XattrWriter, encrypted bool, err error) {
	if v.writer == nil {
		return nil, false, syscall.EROFS
	}
	if encrypted, err = v.namespace(name); err != nil {
		return nil, false, err
	}
	st, err := v.xattrStore(i, encrypted, syscall.EPERM)
	if err != nil {
		return nil, false, err
	}
	w, ok := st.(store.XattrWriter)
	if !ok {
		return nil, false, syscall.EOPNOTSUPP
	}
	return w, encrypted, nil
}

// GetXattr returns the value of an extended attribute; ENODATA if there is none.
func (v *Volume) GetXattr(i *Inode, name string) ([]byte, error) {
	encrypted, err := v.namespace(name)
	if err != nil {
		return nil, err
	}
	st, err := v.xattrStore(i, encrypted, syscall.ENODATA)
	if err != nil {
		return nil, err
	}
	if !encrypted {
		value, err := st.GetXattr(i.node, name)
		return value, v.report(err)
	}
	ct, lower, err := v.attrs.sealName(name, syscall.ENODATA)
	if err != nil {
		return nil, err
	}
	stored, err := st.GetXattr(i.node, lower)
	if err != nil {
		return nil, v.report(err)
	}
	value, err := v.attrs.openValue(stored, ct)
	if err != nil {
		return nil, v.report(&store.DamagedError{Path: i.node.String(), Detail: "attribute " + lower + ": " + err.Error()})
	}
	return value, nil
}

// ListXattr returns the names of the extended attributes of an inode: of those in
// the store the ones that GetXattr would find.
func (v *Volume) ListXattr(i *Inode) ([]string, error) {
	st, err := v.xattrStore(i, false, 0)
	if err != nil {
		return nil, err
	}
	stored, err := st.ListXattr(i.node)
	if err != nil {
		return nil, v.report(err)
	}
	names := make([]string, 0, len(stored))
	for _, lower := range stored {
		encrypted, err := v.namespace(lower)
		if err == nil && !encrypted {
			names = append(names, lower)
		} else if v.system == nil {
			if name, ok := v.attrs.openName(lower); ok {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// SetXattr sets an extended attribute, with the flags of setxattr(2).
func (v *Volume) SetXattr(i *Inode, name string, value []byte, flags int) error {
	st, encrypted, err := v.xattrWriter(i, name)
	if err != nil {
		return err
	}
	if encrypted {
		ct, lower, err := v.attrs.sealName(name, syscall.ERANGE)
		if err != nil {
			return err
		}
		name, value = lower, v.attrs.sealValue(value, ct)
	}
	return v.report(st.SetXattr(i.node, name, value, flags))
}

// RemoveXattr removes an extended attribute; ENODATA if there is none.
func (v *Volume) RemoveXattr(i *Inode, name string) error {
	st, encrypted, err := v.xattrWriter(i, name)
	if err != nil {
		return err
	}
	if encrypted {
		if _, name, err = v.attrs.sealName(name, syscall.ENODATA); err != nil {
			return err
		}
	}
	return v.report(st.RemoveXattr(i.node, name))
}
