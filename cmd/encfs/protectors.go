package main

import (
	"errors"
	"os"
	"strings"

	"encfs/keys"
	"encfs/keys/metadata"
)

// keyMetadata are the policy of a master key and its protectors, in the folders
// where they are.
type keyMetadata struct {
	dirs       []*metadata.Dir // the first is the cipher directory's own
	policy     *metadata.Policy
	protectors []placedProtector
	errs       []error // of protectors that cannot be read
}

// A placedProtector is a protector with the folder that it is in.
type placedProtector struct {
	*metadata.Protector
	dir *metadata.Dir
}

// openMetadata reads the key metadata of a cipher directory, and looks for
// protectors elsewhere too. Protectors that cannot be read are no error here. The
// caller closes the result.
func openMetadata(source string, id keys.Identifier, elsewhere metadataPlace) (*keyMetadata, error) {
	root, err := os.OpenRoot(source)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir, err := metadata.Open(root, true)
	if err != nil {
		return nil, err
	}
	m := &keyMetadata{dirs: []*metadata.Dir{dir}}
	if err := m.read(id, elsewhere); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

func (m *keyMetadata) read(id keys.Identifier, elsewhere metadataPlace) error {
	more, err := elsewhere.open()
	if err != nil {
		return err
	}
	m.dirs = append(m.dirs, more...)
	return m.readPolicy(id.String())
}

// readPolicy reads a policy and its protectors as they are now.
func (m *keyMetadata) readPolicy(name string) error {
	policy, err := m.dirs[0].Policy(name)
	if err != nil {
		return err
	}
	m.policy, m.protectors, m.errs = policy, nil, nil
	for _, descriptor := range policy.Protectors() {
		p, err := m.find(descriptor)
		if err != nil {
			m.errs = append(m.errs, err)
			continue
		}
		m.protectors = append(m.protectors, p)
	}
	return nil
}

// find returns the protector with a descriptor. Where no folder has it, the error
// is that of the cipher directory's own, which may have a link.
func (m *keyMetadata) find(descriptor string) (placedProtector, error) {
	var first error
	for _, dir := range m.dirs {
		p, err := dir.Protector(descriptor)
		if err == nil {
			return placedProtector{p, dir}, nil
		}
		if first == nil {
			first = err
		}
		if !errors.Is(err, metadata.ErrMissing) {
			break
		}
	}
	return placedProtector{}, first
}

func (m *keyMetadata) close() {
	for _, dir := range m.dirs {
		dir.Close()
	}
}

// choose returns the protectors to try: all, or the one with the descriptor that
// the user gave.
func (m *keyMetadata) choose(descriptor string) ([]placedProtector, error) {
	if descriptor == "" {
		return m.protectors, nil
	}
	var known []string
	for _, p := range m.protectors {
		if p.Descriptor() == strings.ToLower(descriptor) {
			return []placedProtector{p}, nil
		}
		known = append(known, p.Descriptor())
	}
	for _, d := range m.policy.Protectors() {
		if d == strings.ToLower(descriptor) {
			return nil, errors.Join(m.errs...)
		}
	}
	return nil, failf(exitKey, "known are "+strings.Join(known, ", "), "there is no protector %s", descriptor)
}

// open opens the policy with a protector and its secret: a passphrase or a raw
// key. The caller closes the master key and the protector key.
func (m *keyMetadata) open(p placedProtector, secret *keys.Secret) (*keys.MasterKey, *keys.Secret, error) {
	key, err := p.Unlock(secret)
	if err != nil {
		return nil, nil, err
	}
	mk, err := m.policy.Unlock(p.Descriptor(), key)
	if err != nil {
		key.Close()
		return nil, nil, err
	}
	return mk, key, nil
}

// An opened is a protector that a passphrase has opened.
type opened struct {
	placedProtector
	passphrase *keys.Secret
	key        *keys.Secret // of the protector
}

func (o *opened) close() {
	o.passphrase.Close()
	o.key.Close()
}

// askPassphrase reads a passphrase and tries it on the protectors that take one.
// It does not ask if there is none. The caller closes both results.
func (m *keyMetadata) askPassphrase(source string, k *keyFlags, c console, prompt string) (*opened, *keys.MasterKey, error) {
	candidates, err := m.choose(k.protector)
	if err != nil {
		return nil, nil, err
	}
	var usable []placedProtector
	for _, p := range candidates {
		if p.Source().Passphrase() {
			usable = append(usable, p)
		}
	}
	if len(usable) == 0 {
		if len(m.errs) > 0 {
			return nil, nil, errors.Join(m.errs...)
		}
		return nil, nil, failf(exitKey, "use --key-file", "%s has no protector that a passphrase opens", source)
	}
	passphrase, err := k.passphrase.read(c, prompt)
	if err != nil {
		return nil, nil, err
	}
	errs := []error{failf(exitKey, "", "wrong passphrase for %s", source)}
	for _, p := range usable {
		mk, key, err := m.open(p, passphrase)
		if err == nil {
			return &opened{p, passphrase, key}, mk, nil
		}
		if !errors.Is(err, metadata.ErrWrongSecret) {
			errs = append(errs, err)
		}
	}
	passphrase.Close()
	if len(errs) > len(usable) {
		errs = errs[1:] // nothing is known about the passphrase
	}
	return nil, nil, errors.Join(append(errs, m.errs...)...)
}
