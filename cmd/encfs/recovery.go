package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"

	"encfs/keys"
	"encfs/keys/metadata"
)

// recoveryLetters is the length of a recovery passphrase, as the fscrypt tool makes
// it: 20 letters of 26 have 94 bits.
const recoveryLetters = 20

// newRecovery makes a protector with a random passphrase and writes that to the
// recovery file, which must not exist. It returns the protector and its key.
func (s *initSecrets) newRecovery(dir string, costs func() (metadata.Costs, error)) (*metadata.Protector, *keys.Secret, error) {
	c, err := costs()
	if err != nil {
		return nil, nil, err
	}
	name, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil, err
	}
	passphrase, err := randomLetters(recoveryLetters)
	if err != nil {
		return nil, nil, err
	}
	defer passphrase.Close()
	p, key, err := metadata.NewPassphraseProtector("Recovery passphrase for "+name, passphrase, c)
	if err != nil {
		return nil, nil, err
	}
	if err := writeRecoveryFile(s.recovery, dir, passphrase); err != nil {
		key.Close()
		return nil, nil, err
	}
	return p, key, nil
}

// randomLetters returns n letters a to z, each as likely as the others.
func randomLetters(n int) (*keys.Secret, error) {
	s, err := keys.NewSecret(n)
	if err != nil {
		return nil, err
	}
	random, err := keys.NewSecret(1)
	if err != nil {
		s.Close()
		return nil, err
	}
	defer random.Close()
	const fair = 256 / 26 * 26 // below it, each letter has as many bytes
	for i := 0; i < n; {
		rand.Read(random.Bytes())
		if b := random.Bytes()[0]; b < fair {
			s.Bytes()[i] = 'a' + b%26
			i++
		}
	}
	return s, nil
}

// writeRecoveryFile writes a passphrase to a new file, on the first line, so that
// --passfile takes it. It returns when the file is on the disk.
func writeRecoveryFile(file, dir string, passphrase *keys.Secret) (err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, iofs.ErrExist) {
		return recoveryExists(file)
	}
	if err != nil {
		return fmt.Errorf("--recovery: %w", err)
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			os.Remove(file)
		}
	}()
	if _, err := f.Write(passphrase.Bytes()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, `

The line above is the recovery passphrase of the cipher directory
%q. Keep this file, or the line on paper, in a safe place
elsewhere: whoever has it can read the files. To use it:

  encfs mount --passfile FILE CIPHERDIR MOUNTPOINT

It needs the folder .fscrypt in the cipher directory, or a copy of it.
`, dir)
	if err != nil {
		return err
	}
	return f.Sync()
}
