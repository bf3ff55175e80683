package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"encfs/fs/dirstore"
	"encfs/keys"
)

func newPasswdCommand() *cobra.Command {
	var k keyFlags
	var replacement passphraseSource
	var costs costFlags
	cmd := &cobra.Command{
		Use:   "passwd [flags] SOURCE",
		Short: "Change a passphrase",
		Long: `Change the passphrase of the protector that the old one opens. The files stay as
they are, and a mount goes on. Both are asked for; without a terminal, standard
input has the old one on its first line and the new one on its second.

Copies of .fscrypt made before, in backups say, still open with the old
passphrase.`,
		Args: argsOfUse,
		RunE: func(cmd *cobra.Command, args []string) error {
			return changePassphrase(cmd.OutOrStdout(), args[0], &k, replacement, &costs, consoleOf(cmd))
		},
	}
	flags := cmd.Flags()
	k.passphrase.add(flags)
	k.addPlaces(flags)
	flags.StringVar(&replacement.file, "new-passfile", "", "read the new passphrase from the first line of `FILE`; - is standard input")
	costs.add(flags, "by default as before")
	return cmd
}

// changePassphrase sets a new passphrase for the protector that the old one opens.
// Its file is replaced in one step.
func changePassphrase(w io.Writer, source string, k *keyFlags, replacement passphraseSource, costs *costFlags, c console) error {
	if err := k.check(); err != nil {
		return err
	}
	if err := keys.DisableCoreDumps(); err != nil {
		return err
	}
	st, err := openStore(source, dirstore.Options{ReadOnly: true, Shared: true})
	if err != nil {
		return err
	}
	defer st.Close()
	policy, err := rootPolicy(source, st)
	if err != nil {
		return err
	}
	m, err := openMetadata(source, policy.Identifier, k.elsewhere())
	if err != nil {
		return err
	}
	defer m.close()
	p, mk, err := m.askPassphrase(source, k, c, "Old passphrase: ")
	if err != nil {
		return err
	}
	defer p.close()
	defer mk.Close()
	newCosts, err := costs.over(p.Costs())
	if err != nil {
		return err
	}
	passphrase, err := replacement.readNew(c, "New passphrase: ")
	if err != nil {
		return err
	}
	defer passphrase.Close()
	if sameSecret(passphrase, p.passphrase) {
		return failf(exitKey, "choose another one", "the new passphrase is the old one")
	}
	if err := p.Rewrap(p.key, passphrase, newCosts); err != nil {
		return err
	}
	if err := p.dir.WriteProtector(p.Protector); err != nil {
		return err
	}
	fmt.Fprintf(w, "protector %s has a new passphrase\n", p.Descriptor())
	c.notef("copies of .fscrypt made before still open with the old passphrase")
	return nil
}
