package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/keys"
	"encfs/keys/metadata"
)

// keyFlags are the flags that say how to open a source.
type keyFlags struct {
	passphrase passphraseSource
	keyFiles   []string
	protector  string
	metadata   string
	locked     bool
	images     imageFlags
}

func (k *keyFlags) add(flags *pflag.FlagSet) {
	k.passphrase.add(flags)
	k.addKeyFiles(flags)
	flags.BoolVar(&k.locked, "locked", false, "open an image without keys: encrypted names are shown as the kernel shows them then")
	k.images.add(flags)
	k.addPlaces(flags)
}

func (k *keyFlags) addKeyFiles(flags *pflag.FlagSet) {
	flags.StringArrayVar(&k.keyFiles, "key-file", nil, "raw master key or raw key of a protector, in `FILE` as bytes or in hexadecimal; - is standard input; may be repeated")
}

// addPlaces adds the flags that say where keys are kept.
func (k *keyFlags) addPlaces(flags *pflag.FlagSet) {
	flags.StringVar(&k.protector, "protector", "", "use the protector with this `ID` only")
	addMetadataFlag(flags, &k.metadata)
}

// addMetadataFlag adds the flag that says where else protectors are.
func addMetadataFlag(flags *pflag.FlagSet, place *string) {
	flags.StringVar(place, "metadata", "", "look for linked protectors in `PLACE` too: a .fscrypt folder, or a directory, image or device with one")
}

// elsewhere returns where to look for protectors besides the source.
func (k *keyFlags) elsewhere() metadataPlace { return metadataPlace{k.metadata, k.images.force} }

func (p *passphraseSource) add(flags *pflag.FlagSet) {
	flags.StringVar(&p.file, "passfile", "", "read the passphrase from the first line of `FILE`; - is standard input")
	flags.StringVar(&p.command, "extpass", "", "read the passphrase from the first line that `COMMAND` prints, run by /bin/sh -c")
}

// addNew adds the flag for a passphrase that is to be set.
func (p *passphraseSource) addNew(flags *pflag.FlagSet) {
	flags.StringVar(&p.file, "new-passfile", "", "read the new passphrase from the first line of `FILE`; - is standard input")
}

// addOptions adds what mount options say about keys and images.
func (k *keyFlags) addOptions(o mountOptions) error {
	if o.passfile != "" {
		if k.passphrase.file != "" {
			return usagef("--passfile and -o passfile: give one of them")
		}
		k.passphrase.file = o.passfile
	}
	k.keyFiles = append(k.keyFiles, o.keyFiles...)
	if o.partition != 0 {
		k.images.partition = o.partition
	}
	return nil
}

// check checks that there is one source of keys at most.
func (k *keyFlags) check() error {
	var given []string
	for _, flag := range []struct {
		name string
		set  bool
	}{
		{"--passfile", k.passphrase.file != ""},
		{"--extpass", k.passphrase.command != ""},
		{"--key-file", len(k.keyFiles) > 0},
		{"--locked", k.locked},
	} {
		if flag.set {
			given = append(given, flag.name)
		}
	}
	if len(given) > 1 {
		return usagef("%s: give one of them", strings.Join(given, " and "))
	}
	return nil
}

// checkImage is check for an image, of which a passphrase may open some policies and
// key files others.
func (k *keyFlags) checkImage() error {
	one := *k
	if !k.locked {
		one.keyFiles = nil
	}
	return one.check()
}

// unlock returns the master key of a cipher directory, which the caller closes,
// and unlocks the store with it.
func (k *keyFlags) unlock(source string, st *dirstore.Store, c console) (*keys.MasterKey, error) {
	if err := k.check(); err != nil {
		return nil, err
	}
	if k.locked {
		return nil, usagef("--locked: a cipher directory cannot be opened without a key")
	}
	policy, err := rootPolicy(source, st)
	if err != nil {
		return nil, err
	}
	var mk *keys.MasterKey
	if len(k.keyFiles) > 0 {
		mk, err = k.byKeyFile(source, policy.Identifier, c)
	} else {
		mk, err = k.byPassphrase(source, policy.Identifier, c)
	}
	if err != nil {
		return nil, err
	}
	if err := st.Unlock(fs.NewHeaderAuthenticator(mk)); err != nil {
		mk.Close()
		return nil, pathError(source, err)
	}
	return mk, nil
}

// byPassphrase asks for a passphrase and opens the policy of a master key with it.
func (k *keyFlags) byPassphrase(source string, id keys.Identifier, c console) (*keys.MasterKey, error) {
	m, err := openMetadata(source, id, k.elsewhere())
	if err != nil {
		return nil, err
	}
	defer m.close()
	p, mk, err := m.askPassphrase(source, k, c, "Passphrase: ")
	if err != nil {
		return nil, err
	}
	p.close()
	return mk, nil
}

// byKeyFile opens the policy of a master key with the first key file that fits:
// the master key itself, for which no metadata are needed, or the key of a
// protector.
func (k *keyFlags) byKeyFile(source string, id keys.Identifier, c console) (*keys.MasterKey, error) {
	readings, err := k.readKeyFiles(c)
	if err != nil {
		return nil, err
	}
	defer func() { closeSecrets(readings) }()
	for _, r := range readings {
		mk, err := keys.NewMasterKey(r.Bytes())
		if err != nil {
			return nil, err
		}
		if mk.Identifier() == id {
			return mk, nil
		}
		mk.Close()
	}
	readings = slices.DeleteFunc(readings, func(r *keys.Secret) bool {
		if r.Len() == rawKeySize {
			return false
		}
		r.Close()
		return true
	})
	wrong := failf(exitKey, "", "%s: neither the master key of %s nor the key of one of its protectors", strings.Join(k.keyFiles, ", "), source)
	if len(readings) == 0 {
		return nil, wrong
	}
	m, err := openMetadata(source, id, k.elsewhere())
	if err != nil {
		return nil, fmt.Errorf("%s: not the master key of %s: %w", strings.Join(k.keyFiles, ", "), source, err)
	}
	defer m.close()
	protectors, err := m.choose(k.protector)
	if err != nil {
		return nil, err
	}
	for _, p := range protectors {
		if p.Source() != metadata.RawKey {
			continue
		}
		for _, r := range readings {
			mk, key, err := m.open(p, r)
			if err == nil {
				key.Close()
				return mk, nil
			}
			if !errors.Is(err, metadata.ErrWrongSecret) {
				return nil, err
			}
		}
	}
	return nil, wrong
}

// rawKeySize is the length in bytes of the raw key of a protector.
const rawKeySize = 32

// readKeyFiles returns the ways to read the key files. The caller closes them.
func (k *keyFlags) readKeyFiles(c console) ([]*keys.Secret, error) {
	var readings []*keys.Secret
	for _, file := range k.keyFiles {
		r, err := readKeyFile(file, c)
		if err != nil {
			closeSecrets(readings)
			return nil, err
		}
		readings = append(readings, r...)
	}
	return readings, nil
}

func closeSecrets(secrets []*keys.Secret) {
	for _, s := range secrets {
		s.Close()
	}
}

// readKeyFile returns the ways to read a key file, "-" for standard input. The
// caller closes them.
func readKeyFile(file string, c console) (readings []*keys.Secret, err error) {
	if file == "-" {
		readings, err = keys.ReadKeys(c.in)
	} else {
		readings, err = keys.ReadKeyFile(file)
	}
	if err != nil {
		return nil, secretError(err)
	}
	return readings, nil
}

// readRawKey returns the raw key of a protector, which a key file is to have, "-" for
// standard input. The caller closes it.
func readRawKey(file string, c console) (*keys.Secret, error) {
	readings, err := readKeyFile(file, c)
	if err != nil {
		return nil, err
	}
	var raw *keys.Secret
	for _, r := range readings {
		if raw == nil && r.Len() == rawKeySize {
			raw = r
			continue
		}
		r.Close()
	}
	if raw == nil {
		return nil, failf(exitKey, "make one with: head -c 32 /dev/urandom >FILE",
			"%s: a raw key for a protector has %d bytes", file, rawKeySize)
	}
	return raw, nil
}
