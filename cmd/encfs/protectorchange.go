package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"encfs/keys"
	"encfs/keys/metadata"
)

func newProtectorChangeCommand() *cobra.Command {
	var k keyFlags
	var n newProtector
	cmd := &cobra.Command{
		Use:   "change [flags] CIPHERDIR ID",
		Short: "Change the passphrase or raw key of a protector",
		Long: `Change the passphrase of the protector ID, which it is opened with first. Both are
asked for; without a terminal, standard input has the old one on its first line and
the new one on its second. Of a raw key, both come from --key-file and
--new-key-file. Who has lost the old one adds a protector and removes this one.

Copies of .fscrypt made before, in backups say, still open with the old secret.`,
		Args: argsOfUse,
		RunE: func(cmd *cobra.Command, args []string) error {
			k.protector = args[1]
			return changeProtector(cmd.OutOrStdout(), args[0], &k, &n, consoleOf(cmd))
		},
	}
	flags := cmd.Flags()
	k.passphrase.add(flags)
	k.addKeyFiles(flags)
	addMetadataFlag(flags, &k.metadata)
	n.passphrase.addNew(flags)
	flags.StringVar(&n.keyFile, "new-key-file", "", "the new raw key, in `FILE` as 32 bytes or the same in hexadecimal; - is standard input")
	n.costs.add(flags, "by default as before")
	return cmd
}

// changeProtector sets a new secret of the same kind for the protector that k names.
func changeProtector(w io.Writer, source string, k *keyFlags, n *newProtector, c console) error {
	if err := k.check(); err != nil {
		return err
	}
	if err := n.check(source); err != nil {
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
	if _, err := m.checkKnown(source, k.protector); err != nil {
		return err
	}
	chosen, err := m.choose(k.protector)
	if err != nil {
		return err
	}
	p := chosen[0]
	if p.Source() != metadata.RawKey {
		if len(k.keyFiles) > 0 || n.keyFile != "" {
			return usagef("--key-file and --new-key-file: protector %s is opened by a passphrase", p.Descriptor())
		}
		return m.changePassphrase(w, source, k, n, c)
	}
	if len(k.keyFiles) == 0 || n.keyFile == "" || n.costs.given() {
		return usagef("protector %s is opened by a raw key: --key-file and --new-key-file are needed, and no costs", p.Descriptor())
	}
	return m.changeRawKey(w, source, p, k, n, c)
}

// changeRawKey sets a new raw key for a protector that one of the key files opens.
func (m *keyMetadata) changeRawKey(w io.Writer, source string, p placedProtector, k *keyFlags, n *newProtector, c console) error {
	readings, err := k.readKeyFiles(c)
	if err != nil {
		return err
	}
	defer func() { closeSecrets(readings) }()
	raw, err := readRawKey(n.keyFile, c)
	if err != nil {
		return err
	}
	defer raw.Close()
	for _, old := range readings {
		if old.Len() != rawKeySize {
			continue
		}
		mk, key, err := m.open(p, old)
		if errors.Is(err, metadata.ErrWrongSecret) {
			continue
		}
		if err != nil {
			return err
		}
		defer key.Close()
		mk.Close()
		if sameSecret(old, raw) {
			return failf(exitKey, "choose another one", "the new key is the old one")
		}
		if err := m.rewrap(source, p, key, raw, metadata.Costs{}); err != nil {
			return err
		}
		fmt.Fprintf(w, "protector %s has a new key\n", p.Descriptor())
		c.notef("copies of .fscrypt made before still open with the old key")
		return nil
	}
	return failf(exitKey, "", "%s: not the key of protector %s", strings.Join(k.keyFiles, ", "), p.Descriptor())
}
