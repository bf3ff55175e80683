package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"encfs/keys/metadata"
)

func newProtectorRemoveCommand() *cobra.Command {
	var force bool
	var elsewhere metadataPlace
	cmd := &cobra.Command{
		Use:   "remove [flags] CIPHERDIR ID",
		Short: "Remove a passphrase or raw key",
		Long: `Remove the protector ID of a cipher directory, so that its passphrase or key no longer
opens it. Needs no key, and says what still opens it. The last one that does is
removed with --force only: without a protector nobody can open the files.

Copies of .fscrypt made before, in backups say, still open with what was removed. The
master key stays, so whoever has both can read what is written later, too.`,
		Args: argsOfUse,
		RunE: func(cmd *cobra.Command, args []string) error {
			return removeProtector(cmd.OutOrStdout(), args[0], args[1], force, elsewhere, consoleOf(cmd))
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "remove even the last one")
	addMetadataFlag(cmd.Flags(), &elsewhere.path)
	return cmd
}

// removeProtector removes a protector from the policy of a cipher directory. The policy
// comes first, so that what an interruption leaves is a file that no policy names; to
// remove that protector again removes it.
func removeProtector(w io.Writer, source, id string, force bool, elsewhere metadataPlace, c console) error {
	m, err := openKeyMetadata(source, elsewhere)
	if err != nil {
		return err
	}
	defer m.close()
	return m.change(source, func() error {
		descriptor, err := m.checkKnown(source, id)
		if err != nil {
			if unused, readErr := m.dirs[0].Protector(strings.ToLower(id)); readErr == nil && !m.otherPolicies(unused.Descriptor()) {
				return m.removeUnused(w, unused.Descriptor())
			}
			return err
		}
		var rest []placedProtector
		for _, p := range m.protectors {
			if p.Descriptor() != descriptor {
				rest = append(rest, p)
			}
		}
		if len(rest) == 0 && !force {
			last := failf(exitFailure, "add another one first, or give --force to lose the files",
				"protector %s is the last one that opens %s", descriptor, source)
			return errors.Join(append([]error{last}, m.errs...)...)
		}
		if err := m.remove(descriptor); err != nil {
			return err
		}
		fmt.Fprintf(w, "protector %s removed\n", descriptor)
		for _, p := range rest {
			fmt.Fprintf(w, "still opened by %s %s %s\n", p.Descriptor(), p.Source(), printable(fmt.Sprintf("%q", p.Name())))
		}
		if len(rest) == 0 {
			c.notef("nothing opens %s any more but its raw master key", source)
		}
		c.notef("copies of .fscrypt made before still open with what was removed")
		return nil
	})
}

// remove takes a protector out of the policy, which goes with the last one, and removes
// its file unless another policy has it, too.
func (m *keyMetadata) remove(descriptor string) error {
	var err error
	if len(m.policy.Protectors()) == 1 {
		err = m.dirs[0].RemovePolicy(m.policy.Name())
	} else if err = m.policy.RemoveProtector(descriptor); err == nil {
		err = m.dirs[0].WritePolicy(m.policy)
	}
	if err != nil || m.otherPolicies(descriptor) {
		return err
	}
	err = m.dirs[0].RemoveProtector(descriptor)
	if errors.Is(err, metadata.ErrMissing) { // as it is on another file system
		return nil
	}
	return err
}

// removeUnused removes the file of a protector that no policy has.
func (m *keyMetadata) removeUnused(w io.Writer, descriptor string) error {
	if err := m.dirs[0].RemoveProtector(descriptor); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "protector %s removed; it opened nothing\n", descriptor)
	return err
}
