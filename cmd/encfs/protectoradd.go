package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"encfs/keys"
	"encfs/keys/metadata"
)

// The names of protectors that are given none.
const (
	passphraseName = "passphrase"
	keyFileName    = "key file"
)

// A newProtector says what the secret of a new protector is and where it comes from:
// a raw key, a recovery passphrase, or else a passphrase.
type newProtector struct {
	passphrase passphraseSource
	keyFile    string // with a raw key
	recovery   string // file to write a random passphrase to; "-" is standard output
	name       string // "" for the usual one
	costs      costFlags
}

func newProtectorAddCommand() *cobra.Command {
	var k keyFlags
	var n newProtector
	cmd := &cobra.Command{
		Use:   "add [flags] CIPHERDIR",
		Short: "Add a passphrase, recovery passphrase or raw key",
		Long: `Add a passphrase that opens a cipher directory, or with a flag a recovery passphrase
or a raw key. What opens it already is asked for first, or taken from --passfile,
--extpass or --key-file; it still opens it. Without a terminal, standard input has
the old passphrase on its first line and the new one on its second.

A recovery passphrase is random, has 20 letters in groups, and is shown once or
written to a file. It is for a safe place elsewhere.`,
		Args: argsOfUse,
		RunE: func(cmd *cobra.Command, args []string) error {
			return addProtector(cmd.OutOrStdout(), args[0], &k, &n, consoleOf(cmd))
		},
	}
	flags := cmd.Flags()
	k.passphrase.add(flags)
	k.addKeyFiles(flags)
	k.addPlaces(flags)
	n.passphrase.addNew(flags)
	flags.StringVar(&n.keyFile, "new-key-file", "", "add the raw key in `FILE`, 32 bytes or the same in hexadecimal; - is standard input")
	flags.StringVar(&n.recovery, "recovery", "", "add a recovery passphrase and write it to this new `FILE`; - is standard output")
	flags.StringVar(&n.name, "name", "", "`NAME` of the protector, for people")
	n.costs.add(flags, "by default such that it takes about a second here")
	return cmd
}

// addProtector adds a protector to the policy of a cipher directory.
func addProtector(w io.Writer, source string, k *keyFlags, n *newProtector, c console) error {
	if err := errors.Join(k.check(), n.check(source)); err != nil {
		return err
	}
	if err := keys.DisableCoreDumps(); err != nil {
		return err
	}
	mk, err := unlockSource(source, k, c)
	if err != nil {
		return err
	}
	defer mk.Close()
	m, err := openMetadata(source, mk.Identifier(), k.elsewhere())
	if err != nil {
		return err
	}
	defer m.close()
	secret, err := n.readSecret(c)
	if err != nil {
		return err
	}
	defer secret.Close()
	var costs metadata.Costs
	if n.keyFile == "" {
		if costs, err = n.costs.measured(); err != nil {
			return err
		}
	}
	return m.change(source, func() error {
		name, err := m.nameFor(n, source)
		if err != nil {
			return err
		}
		p, key, err := n.make(name, secret, costs)
		if err != nil {
			return err
		}
		defer key.Close()
		deliver := func() error { return n.deliver(w, source, secret) }
		if err := m.add(p, key, mk, deliver, n.withdraw); err != nil {
			return err
		}
		if n.recovery == "-" {
			c.notef("the first line is the recovery passphrase, hyphens included; it is not shown again")
		}
		_, err = fmt.Fprintf(w, "protector %s opens %s\n", p.Descriptor(), printable(source))
		return err
	})
}

// add adds a protector to the policy. deliver is called when all is ready, before the
// protector opens anything; if that fails nothing changes. withdraw is called if
// what was delivered will not open anything. The protector's file comes first, so
// that what an interruption leaves is a file that no policy names.
func (m *keyMetadata) add(p *metadata.Protector, key *keys.Secret, mk *keys.MasterKey, deliver, withdraw func() error) error {
	if err := m.policy.AddProtector(mk, key); err != nil {
		return err
	}
	dir := m.dirs[0]
	if err := dir.WriteProtector(p); err != nil {
		return err
	}
	if err := deliver(); err != nil {
		return errors.Join(err, dir.RemoveProtector(p.Descriptor()))
	}
	err := dir.WritePolicy(m.policy)
	if err == nil {
		return nil
	}
	// It may be in place, and only not known to be on the disk.
	written, readErr := dir.Policy(m.policy.Name())
	if readErr != nil || slices.Contains(written.Protectors(), p.Descriptor()) {
		return err
	}
	return errors.Join(err, dir.RemoveProtector(p.Descriptor()), withdraw())
}

// check finds usage errors, and a recovery file that would be lost with what it is
// to recover.
func (n *newProtector) check(dir string) error {
	var given []string
	for _, flag := range []struct{ name, value string }{
		{"--new-passfile", n.passphrase.file}, {"--new-key-file", n.keyFile}, {"--recovery", n.recovery},
	} {
		if flag.value != "" {
			given = append(given, flag.name)
		}
	}
	if len(given) > 1 {
		return usagef("%s: give one of them", strings.Join(given, " and "))
	}
	if n.keyFile != "" && n.costs.given() {
		return usagef("--argon2-* with --new-key-file: a raw key is not hashed")
	}
	if n.costs.complete() {
		if _, err := n.costs.measured(); err != nil {
			return err
		}
	}
	if err := checkProtectorName(n.name); err != nil {
		return err
	}
	if n.recovery == "" || n.recovery == "-" {
		return nil
	}
	return checkRecoveryFile(n.recovery, dir)
}

// maxProtectorName is the longest name in bytes that a protector can be given.
const maxProtectorName = 255

func checkProtectorName(name string) error {
	switch {
	case len(name) > maxProtectorName:
		return usagef("--name: %d bytes, more than %d", len(name), maxProtectorName)
	case !utf8.ValidString(name):
		return usagef("--name %s: not UTF-8", name)
	case strings.ContainsFunc(name, unicode.IsControl):
		return usagef("--name %s: has control characters", name)
	}
	return nil
}

// nameFor returns the name of a new protector. The fscrypt tool wants names to differ
// in a folder.
func (m *keyMetadata) nameFor(n *newProtector, source string) (string, error) {
	taken := map[string]bool{}
	protectors, _ := m.dirs[0].Protectors() // of what cannot be read, the name is not known
	for _, p := range protectors {
		taken[p.Name()] = true
	}
	if n.name != "" {
		if taken[n.name] {
			return "", failf(exitFailure, "choose another name", "a protector of %s is called %s already", source, n.name)
		}
		return n.name, nil
	}
	usual := passphraseName
	switch {
	case n.keyFile != "":
		usual = keyFileName
	case n.recovery != "":
		usual = recoveryName(source)
	}
	name := usual
	for i := 2; taken[name]; i++ {
		name = fmt.Sprintf("%s %d", usual, i)
	}
	return name, nil
}

// readSecret returns the secret, which the caller closes.
func (n *newProtector) readSecret(c console) (*keys.Secret, error) {
	switch {
	case n.keyFile != "":
		return readRawKey(n.keyFile, c)
	case n.recovery != "":
		return newRecoveryPassphrase()
	}
	return n.passphrase.readNew(c, "New passphrase: ")
}

func (n *newProtector) make(name string, secret *keys.Secret, costs metadata.Costs) (*metadata.Protector, *keys.Secret, error) {
	if n.keyFile != "" {
		return metadata.NewRawKeyProtector(name, secret)
	}
	p, key, err := metadata.NewPassphraseProtector(name, secret, costs)
	return p, key, newHashError(err)
}

// deliver hands a recovery passphrase to the user, the first line of a file or of w,
// so that --passfile takes it.
func (n *newProtector) deliver(w io.Writer, source string, secret *keys.Secret) error {
	switch n.recovery {
	case "":
		return nil
	case "-":
		// Not through fmt, which would keep a copy.
		if _, err := w.Write(secret.Bytes()); err != nil {
			return err
		}
		_, err := io.WriteString(w, "\n")
		return err
	}
	return writeRecoveryFile(n.recovery, source, secret)
}

// withdraw removes what deliver wrote to a file.
func (n *newProtector) withdraw() error {
	if n.recovery == "" || n.recovery == "-" {
		return nil
	}
	return os.Remove(n.recovery)
}

// newHashError adds a remedy to the error of hashing a passphrase that is being set.
func newHashError(err error) error {
	if _, ok := errors.AsType[*metadata.MemoryError](err); ok {
		return failf(exitFailure, "give a lower --argon2-memory", "%w", err)
	}
	return err
}
