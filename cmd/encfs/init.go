package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"encfs/cpufeat"
	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/keys"
	"encfs/keys/metadata"
)

// policyChoice is what the arguments of init ask for.
type policyChoice struct {
	cipher, names, padding choice
}

// initSecrets says what shall open a new cipher directory.
type initSecrets struct {
	passphrase passphraseSource
	keyFile    string // raw key instead of a passphrase
	recovery   string // file to write a recovery passphrase to
	costs      costFlags
}

func newInitCommand() *cobra.Command {
	p := policyChoice{
		cipher:  newChoice("auto", "aes-256-xts", "adiantum", "aes-128-cbc-essiv"),
		names:   newChoice("auto", "aes-256-cts", "aes-256-hctr2", "aes-128-cts", "adiantum"),
		padding: newChoice("32", "4", "8", "16"),
	}
	var s initSecrets
	var drivers driverFlags
	cmd := &cobra.Command{
		Use:   "init [flags] CIPHERDIR",
		Short: "Make a cipher directory in an empty or new folder",
		Long: `Make a cipher directory in an empty or new folder. Its files can be seen in the
clear with "encfs mount". A new passphrase is asked for twice; without a
terminal it is the first line of standard input.

Nobody can open it without the passphrase or key: keep a copy of CIPHERDIR/.fscrypt
and of what opens it.`,
		Args: argsOfUse,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := drivers.parse()
			if err != nil {
				return err
			}
			return initialize(cmd.OutOrStdout(), args[0], p, s, o, consoleOf(cmd))
		},
	}
	flags := cmd.Flags()
	p.cipher.add(flags, "cipher", "cipher for contents, of which auto is AES-256-XTS where the CPU has AES instructions and Adiantum elsewhere")
	p.names.add(flags, "names", "cipher for names, of which auto is the usual one for the cipher for contents")
	p.padding.add(flags, "padding", "pad names to a multiple of so many bytes")
	s.passphrase.add(flags)
	flags.StringVar(&s.keyFile, "key-file", "", "open with the raw key in `FILE`, 32 bytes or the same in hexadecimal, instead of a passphrase; - is standard input")
	flags.StringVar(&s.recovery, "recovery", "", "also write a passphrase for emergencies to this new `FILE`")
	drivers.addSelfTest(flags)
	s.costs.add(flags, "by default such that it takes about a second here")
	return cmd
}

// policy returns the policy without a key identifier, and why its cipher was chosen,
// "" if it was asked for. Its errors are of usage.
func (c policyChoice) policy(have cpufeat.Set) (p keys.Policy, why string, err error) {
	p.Version = 2
	if c.cipher.value == "auto" {
		p.Contents, why = defaultContents(have)
	} else if p.Contents, err = keys.ParseMode(c.cipher.value); err != nil {
		return p, "", usageError{err}
	}
	if c.names.value == "auto" {
		p.Filenames = map[keys.Mode]keys.Mode{
			keys.AES256XTS:      keys.AES256CTS,
			keys.Adiantum:       keys.Adiantum,
			keys.AES128CBCESSIV: keys.AES128CTS,
		}[p.Contents]
	} else if p.Filenames, err = keys.ParseMode(c.names.value); err != nil {
		return p, "", usageError{err}
	}
	padding, err := strconv.Atoi(c.padding.value)
	if err != nil {
		return p, "", usageError{err}
	}
	for p.Padding() < padding {
		p.Flags++
	}
	if err := p.Validate(); err != nil {
		return p, "", usagef("--cipher %s with --names %s: %w", c.cipher.value, c.names.value, err)
	}
	return p, why, nil
}

// initialize makes a cipher directory. The header of the root, without which it is
// none, comes last: what an interruption leaves is no cipher directory, and does
// not hinder the next attempt.
func initialize(w io.Writer, dir string, c policyChoice, s initSecrets, o driverOptions, con console) error {
	policy, why, err := c.policy(cpufeat.Host())
	if err != nil {
		return err
	}
	if err := s.check(dir); err != nil {
		return err
	}
	// Nobody could open what a faulty key derivation has made.
	if _, err := o.forPolicy(policy, foregroundLog(con.err)); err != nil {
		return err
	}
	if err := keys.DisableCoreDumps(); err != nil {
		return err
	}
	if err := checkVacant(dir); err != nil {
		return err
	}
	costs := sync.OnceValues(s.costs.measured)
	protector, key, err := s.newProtector(con, costs)
	if err != nil {
		return err
	}
	defer key.Close()
	mk, err := newMasterKey()
	if err != nil {
		return err
	}
	defer mk.Close()
	policy.Identifier = mk.Identifier()
	policy.Log2DataUnitSize = 12 // 4096 bytes, which the format asks for

	protectors, protectorKeys := []*metadata.Protector{protector}, []*keys.Secret{key}
	if s.recovery != "" {
		r, rk, err := s.newRecovery(dir, costs)
		if err != nil {
			return err
		}
		defer rk.Close()
		protectors, protectorKeys = append(protectors, r), append(protectorKeys, rk)
	}
	if err := create(dir, policy, mk, protectors, protectorKeys); err != nil {
		if s.recovery != "" {
			os.Remove(s.recovery)
		}
		return err
	}
	if why != "" {
		why = " (" + why + ")"
	}
	_, err = fmt.Fprintf(w, "policy %s\ncontents %s%s\nnames %s, padded to %d bytes\n",
		policy.Identifier, policy.Contents, why, policy.Filenames, policy.Padding())
	return err
}

// create writes the files of a cipher directory, in the order of their needs.
func create(dir string, policy keys.Policy, mk *keys.MasterKey, protectors []*metadata.Protector, protectorKeys []*keys.Secret) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, iofs.ErrExist) {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	md, err := metadata.Create(root)
	if err != nil {
		return err
	}
	defer md.Close()
	for _, p := range protectors {
		if err := md.WriteProtector(p); err != nil {
			return err
		}
	}
	p, err := metadata.NewPolicy(mk, metadata.Options{
		Version: int(policy.Version), Padding: policy.Padding(),
		Contents: policy.Contents, Filenames: policy.Filenames,
	}, protectorKeys...)
	if err != nil {
		return err
	}
	if err := md.WritePolicy(p); err != nil {
		return err
	}
	ctx := keys.Context{Policy: policy}
	rand.Read(ctx.Nonce[:])
	return dirstore.Create(dir, ctx.Marshal(), fs.NewHeaderAuthenticator(mk))
}

// checkVacant checks that dir can become a cipher directory: it is missing, empty,
// or has only what an interrupted init left.
func checkVacant(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, iofs.ErrNotExist) {
		if _, err := os.Stat(filepath.Dir(filepath.Clean(dir))); err != nil {
			return err
		}
		return nil
	}
	const hint = "choose an empty or a new directory"
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return failf(exitFailure, hint, "%s is not a directory", dir)
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case name == headerName:
			return failf(exitFailure, hint, "%s is a cipher directory already", dir)
		case name == metadata.FolderName, strings.HasPrefix(name, tempPrefix):
		default:
			return failf(exitFailure, hint, "%s is not empty", dir)
		}
	}
	return nil
}

// tempPrefix begins the names of files that are being made in a cipher directory.
const tempPrefix = ".encfs-tmp-"

// newMasterKey returns a random master key of 64 bytes.
func newMasterKey() (*keys.MasterKey, error) {
	raw, err := keys.NewSecret(keys.MaxMasterKeySize)
	if err != nil {
		return nil, err
	}
	defer raw.Close()
	rand.Read(raw.Bytes())
	return keys.NewMasterKey(raw.Bytes())
}

// check finds usage errors, and a recovery file that would be lost with what it is
// to recover.
func (s *initSecrets) check(dir string) error {
	k := keyFlags{passphrase: s.passphrase}
	if s.keyFile != "" {
		k.keyFiles = []string{s.keyFile}
	}
	if err := k.check(); err != nil {
		return err
	}
	if s.costs.complete() {
		if _, err := s.costs.measured(); err != nil {
			return err
		}
	}
	switch s.recovery {
	case "":
		return nil
	case "-":
		return usagef("--recovery -: a file is needed, as the recovery passphrase is not shown")
	}
	return checkRecoveryFile(s.recovery, dir)
}

// newProtector asks for the secret and returns the first protector and its key.
func (s *initSecrets) newProtector(con console, costs func() (metadata.Costs, error)) (*metadata.Protector, *keys.Secret, error) {
	if s.keyFile != "" {
		raw, err := readRawKey(s.keyFile, con)
		if err != nil {
			return nil, nil, err
		}
		defer raw.Close()
		return metadata.NewRawKeyProtector(keyFileName, raw)
	}
	passphrase, err := s.passphrase.readNew(con, "New passphrase: ")
	if err != nil {
		return nil, nil, err
	}
	defer passphrase.Close()
	c, err := costs()
	if err != nil {
		return nil, nil, err
	}
	return metadata.NewPassphraseProtector(passphraseName, passphrase, c)
}
