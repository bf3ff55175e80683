package main

import (
	"errors"
	"slices"
	"strings"

	"encfs/fs"
	"encfs/keys"
	"encfs/keys/metadata"
)

// imageMetadata are the key metadata of an image: all policies and protectors that
// can be read.
type imageMetadata struct {
	dirs       []*metadata.Dir // the first is the image's own
	policies   []*metadata.Policy
	protectors []*metadata.Protector
	errs       []error // what cannot be read
}

// openImageMetadata reads the key metadata of an image, and looks for protectors
// elsewhere too. Where there are none, it returns nil. The caller closes the result.
func openImageMetadata(v *fs.Volume, elsewhere metadataPlace) (*imageMetadata, error) {
	if ok, err := hasMetadata(v); !ok {
		return nil, err
	}
	dir, err := metadata.OpenFS(v.IOFS(metadata.FolderName))
	if err != nil {
		return nil, err
	}
	m := &imageMetadata{dirs: []*metadata.Dir{dir}}
	more, err := elsewhere.open()
	if err != nil {
		m.close()
		return nil, err
	}
	m.dirs = append(m.dirs, more...)
	m.policies, err = dir.Policies()
	m.errs = append(m.errs, err)
	m.protectors, err = dir.Protectors(m.dirs[1:]...)
	m.errs = append(m.errs, err)
	return m, nil
}

func (m *imageMetadata) close() {
	for _, d := range m.dirs {
		d.Close()
	}
}

// choose returns the protectors to try: those of which take is true, and if the user
// gave a descriptor the one with that.
func (m *imageMetadata) choose(descriptor string, take func(metadata.Source) bool) []*metadata.Protector {
	var chosen []*metadata.Protector
	for _, p := range m.protectors {
		if take(p.Source()) && (descriptor == "" || p.Descriptor() == strings.ToLower(descriptor)) {
			chosen = append(chosen, p)
		}
	}
	return chosen
}

// open returns the master keys of all policies that a protector opens with its
// secret, none if the secret is wrong.
func (m *imageMetadata) open(p *metadata.Protector, secret *keys.Secret) (masterKeys, error) {
	key, err := p.Unlock(secret)
	if errors.Is(err, metadata.ErrWrongSecret) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer key.Close()
	var mks masterKeys
	var errs []error
	for _, policy := range m.policies {
		if !slices.Contains(policy.Protectors(), p.Descriptor()) {
			continue
		}
		mk, err := policy.Unlock(p.Descriptor(), key)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		mks = append(mks, mk)
	}
	return mks, errors.Join(errs...)
}

// unlockImage returns the master keys that the user gives for an image, which the
// caller closes. v is the image without keys. A passphrase and key files have to open
// something each. Nobody is asked for a passphrase if there are key files, nothing is
// encrypted, or none could open anything.
func (k *keyFlags) unlockImage(source string, v *fs.Volume, c console) (masterKeys, error) {
	if err := k.checkImage(); err != nil {
		return nil, err
	}
	if k.locked {
		return nil, nil
	}
	m, err := openImageMetadata(v, k.elsewhere())
	if err != nil {
		return nil, err
	}
	if m == nil {
		m = new(imageMetadata)
	}
	defer m.close()
	if len(k.keyFiles) == 0 {
		return k.imageByPassphrase(source, m, c)
	}
	mks, err := k.imageByKeyFile(source, v, m, c)
	if err != nil || k.passphrase == (passphraseSource{}) {
		return mks, err
	}
	more, err := k.imageByPassphrase(source, m, c)
	if err != nil {
		mks.close()
		return nil, err
	}
	return append(mks, more...), nil
}

func (k *keyFlags) imageByPassphrase(source string, m *imageMetadata, c console) (masterKeys, error) {
	usable := m.choose(k.protector, metadata.Source.Passphrase)
	if len(usable) == 0 {
		if err := errors.Join(m.errs...); err != nil {
			return nil, err
		}
		if k.passphrase != (passphraseSource{}) || k.protector != "" {
			return nil, failf(exitKey, "use --key-file", "%s has no protector that a passphrase opens", source)
		}
		return nil, nil
	}
	passphrase, err := k.passphrase.read(c, "Passphrase: ")
	if err != nil {
		return nil, err
	}
	defer passphrase.Close()
	var mks masterKeys
	var errs []error
	for _, p := range usable {
		opened, err := m.open(p, passphrase)
		mks = append(mks, opened...)
		errs = append(errs, err)
	}
	if len(mks) > 0 {
		return mks, nil
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	wrong := failf(exitKey, "", "wrong passphrase for %s", source)
	return nil, errors.Join(append([]error{wrong}, m.errs...)...)
}

// imageByKeyFile takes every key file for a master key and, if there are protectors
// with raw keys, for the key of one. It is an error if nothing in the image has one
// of the keys.
func (k *keyFlags) imageByKeyFile(source string, v *fs.Volume, m *imageMetadata, c console) (masterKeys, error) {
	readings, err := k.readKeyFiles(c)
	if err != nil {
		return nil, err
	}
	defer closeSecrets(readings)
	var mks masterKeys
	fail := func(err error) (masterKeys, error) {
		mks.close()
		return nil, err
	}
	raw := m.choose(k.protector, func(s metadata.Source) bool { return s == metadata.RawKey })
	opened := false
	for _, r := range readings {
		mk, err := keys.NewMasterKey(r.Bytes())
		if err != nil {
			return fail(err)
		}
		mks = append(mks, mk)
		if r.Len() != rawKeySize {
			continue
		}
		for _, p := range raw {
			more, err := m.open(p, r)
			if err != nil {
				return fail(err)
			}
			opened = opened || len(more) > 0
			mks = append(mks, more...)
		}
	}
	if opened || mks.fit(v) {
		return mks, nil
	}
	return fail(failf(exitKey, "", "%s: no key of what is encrypted in %s", strings.Join(k.keyFiles, ", "), source))
}

// fit reports whether one of the keys is that of something in an image. Files are
// looked at only if it is that of no directory.
func (m masterKeys) fit(v *fs.Volume) bool {
	for _, search := range []treeSearch{{}, {files: true}} {
		found := false
		encryptedTrees(v, search, func(t encryptedTree) bool {
			found = t.err == nil && m.has(t.policy)
			return !found
		})
		if found {
			return true
		}
	}
	return false
}

// has reports whether one of the keys is that of a policy.
func (m masterKeys) has(p keys.Policy) bool {
	return slices.ContainsFunc(m, func(mk *keys.MasterKey) bool {
		if p.Version == 1 {
			return mk.Descriptor() == p.Descriptor
		}
		return mk.Identifier() == p.Identifier
	})
}

// missingLimit is how many directories are looked at to say which keys are missing:
// what is encrypted mostly is near the root.
const missingLimit = 2000

// missing returns the names of the keys of what is encrypted near the root of an
// image, and that are not among these.
func (m masterKeys) missing(v *fs.Volume) []string {
	var names []string
	encryptedTrees(v, treeSearch{directories: missingLimit}, func(t encryptedTree) bool {
		if name := keyName(t.policy); t.err == nil && !m.has(t.policy) && !slices.Contains(names, name) {
			names = append(names, name)
		}
		return true
	})
	return names
}
