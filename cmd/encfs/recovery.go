package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"

	"encfs/keys"
	"encfs/keys/metadata"
)

// A recovery passphrase has as many letters as the fscrypt tool gives it: 20 of 26
// have 94 bits. They are in groups for people to copy, with a hyphen between two,
// which belongs to the passphrase.
const (
	recoveryLetters = 20
	recoveryGroup   = 5
)

// newRecoveryPassphrase returns a random passphrase. The caller closes it.
func newRecoveryPassphrase() (*keys.Secret, error) {
	letters, err := randomLetters(recoveryLetters)
	if err != nil {
		return nil, err
	}
	defer letters.Close()
	s, err := keys.NewSecret(recoveryLetters + recoveryLetters/recoveryGroup - 1)
	if err != nil {
		return nil, err
	}
	b := s.Bytes()
	for i, letter := range letters.Bytes() {
		if i > 0 && i%recoveryGroup == 0 {
			b[0] = '-'
			b = b[1:]
		}
		b[0] = letter
		b = b[1:]
	}
	return s, nil
}

// newRecovery makes a protector with a random passphrase and writes that to the
// recovery file, which must not exist. It returns the protector and its key.
func (s *initSecrets) newRecovery(dir string, costs func() (metadata.Costs, error)) (*metadata.Protector, *keys.Secret, error) {
	c, err := costs()
	if err != nil {
		return nil, nil, err
	}
	passphrase, err := newRecoveryPassphrase()
	if err != nil {
		return nil, nil, err
	}
	defer passphrase.Close()
	p, key, err := metadata.NewPassphraseProtector(recoveryName(dir), passphrase, c)
	if err != nil {
		return nil, nil, err
	}
	if err := writeRecoveryFile(s.recovery, dir, passphrase); err != nil {
		key.Close()
		return nil, nil, err
	}
	return p, key, nil
}

// recoveryName returns the name of a protector with a recovery passphrase. Names are
// UTF-8, which paths need not be.
func recoveryName(dir string) string {
	if name, err := filepath.Abs(dir); err == nil {
		dir = name
	}
	return strings.ToValidUTF8("Recovery passphrase for "+dir, "\uFFFD")
}

// checkRecoveryFile checks that a recovery file is new and does not lie in the cipher
// directory, with which it would be lost.
func checkRecoveryFile(file, dir string) error {
	folder, err := resolve(filepath.Dir(file))
	if err != nil {
		return fmt.Errorf("--recovery: %w", err)
	}
	cipherDir, err := resolve(dir)
	if err != nil {
		return err
	}
	if folder == cipherDir || strings.HasPrefix(folder, cipherDir+"/") {
		return usagef("--recovery %s: lies in the cipher directory, with which it would be lost", file)
	}
	if _, err := os.Lstat(file); err == nil {
		return recoveryExists(file)
	}
	return nil
}

func recoveryExists(file string) error {
	return failf(exitFailure, "choose a new file", "--recovery %s: %w", file, iofs.ErrExist)
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
