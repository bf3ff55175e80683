package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"encfs/fs/dirstore"
)

func newKeyBackupCommand() *cobra.Command {
	var elsewhere metadataPlace
	cmd := &cobra.Command{
		Use:   "backup [flags] CIPHERDIR FILE",
		Short: "Write what a cipher directory is opened with to a file",
		Long: `Write the policy, the protectors and the header of the root of a cipher directory to
one FILE, with which "encfs key restore" repairs it. Needs no key. An older backup of
the same directory is replaced in one step, and nothing else is. A FILE of - is
standard output.

The file has no secret that the directory itself has not, but also what passphrases
that are changed or removed later open. It is a tar archive.`,
		Args: argsOfUse,
		RunE: func(cmd *cobra.Command, args []string) error {
			return backUpKeys(cmd.OutOrStdout(), args[0], args[1], elsewhere)
		},
	}
	addMetadataFlag(cmd.Flags(), &elsewhere.path)
	return cmd
}

// backUpKeys writes the bundle of a cipher directory to a file, or to w for "-".
func backUpKeys(w io.Writer, source, file string, elsewhere metadataPlace) error {
	b, err := newKeyBundle(source, elsewhere)
	if err != nil {
		return err
	}
	content := func(w io.Writer) error { return b.write(w, time.Now().Truncate(time.Second)) }
	if file == "-" {
		if isTerminal(w) {
			return usagef("FILE -: a backup is not for a terminal")
		}
		return content(w)
	}
	folder, err := resolve(filepath.Dir(file))
	if err != nil {
		return err
	}
	cipherDir, err := resolve(source)
	if err != nil {
		return err
	}
	if folder == cipherDir || strings.HasPrefix(folder, cipherDir+"/") {
		return usagef("FILE %s: lies in the cipher directory, with which it would be lost", file)
	}
	f, err := prepareFile(file, func(r io.Reader) bool {
		older, err := readKeyBundle(r)
		return err == nil && older.policy.Name() == b.policy.Name()
	})
	if errors.Is(err, errNotReplaceable) {
		return failf(exitFailure, "choose a new file, or an older backup of the same directory", "%s %w", file, err)
	}
	if err != nil {
		return pathError(file, err)
	}
	f.private = true
	if err := f.write(content); err != nil {
		return pathError(file, err)
	}
	_, err = fmt.Fprintf(w, "policy %s with %d protectors is in %s\n", b.policy.Name(), len(b.protectors), printable(file))
	return err
}

// newKeyBundle reads what a cipher directory has. A protector that cannot be read is an
// error.
func newKeyBundle(source string, elsewhere metadataPlace) (*keyBundle, error) {
	m, err := openKeyMetadata(source, elsewhere)
	if err != nil {
		return nil, err
	}
	defer m.close()
	if len(m.errs) > 0 {
		return nil, errors.Join(m.errs...)
	}
	b := &keyBundle{policy: m.policy}
	for _, p := range m.protectors {
		b.protectors = append(b.protectors, p.Protector)
	}
	b.header, _, err = dirstore.RootHeaders(source)
	return b, err
}
