package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"encfs/keys"
	"encfs/keys/metadata"
)

func newPasswdCommand() *cobra.Command {
	var k keyFlags
	var n newProtector
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
			return changePassphrase(cmd.OutOrStdout(), args[0], &k, &n, consoleOf(cmd))
		},
	}
	flags := cmd.Flags()
	k.passphrase.add(flags)
	k.addPlaces(flags)
	n.passphrase.addNew(flags)
	n.costs.add(flags, "by default as before")
	return cmd
}

// changePassphrase sets a new passphrase for the protector that the old one opens.
func changePassphrase(w io.Writer, source string, k *keyFlags, n *newProtector, c console) error {
	if err := k.check(); err != nil {
		return err
	}
	if err := keys.DisableCoreDumps(); err != nil {
		return err
	}
	m, err := openKeyMetadata(source, k.elsewhere())
	if err != nil {
		return err
	}
	defer m.close()
	return m.changePassphrase(w, source, k, n, c)
}

func (m *keyMetadata) changePassphrase(w io.Writer, source string, k *keyFlags, n *newProtector, c console) error {
	p, mk, err := m.askPassphrase(source, k, c, "Old passphrase: ")
	if err != nil {
		return err
	}
	defer p.close()
	defer mk.Close()
	costs, err := n.costs.over(p.Costs())
	if err != nil {
		return err
	}
	passphrase, err := n.passphrase.readNew(c, "New passphrase: ")
	if err != nil {
		return err
	}
	defer passphrase.Close()
	if sameSecret(passphrase, p.passphrase) {
		return failf(exitKey, "choose another one", "the new passphrase is the old one")
	}
	if err := m.rewrap(source, p.placedProtector, p.key, passphrase, costs); err != nil {
		return err
	}
	fmt.Fprintf(w, "protector %s has a new passphrase\n", p.Descriptor())
	c.notef("copies of .fscrypt made before still open with the old passphrase")
	return nil
}

// rewrap gives a protector of the policy a new secret. Its file is replaced in one
// step.
func (m *keyMetadata) rewrap(source string, p placedProtector, key, secret *keys.Secret, costs metadata.Costs) error {
	if err := p.Rewrap(key, secret, costs); err != nil {
		return newHashError(err)
	}
	return m.change(source, func() error {
		if _, err := m.checkKnown(source, p.Descriptor()); err != nil {
			return err // it was removed meanwhile
		}
		return p.dir.WriteProtector(p.Protector)
	})
}
