package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"encfs/fs/dirstore"
	"encfs/keys/metadata"
)

func newKeyRestoreCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "restore [flags] FILE CIPHERDIR",
		Short: "Put back what a cipher directory is opened with",
		Long: `Put back, from a FILE that "encfs key backup" wrote, what is missing or damaged of the
policy, the protectors and the header of a cipher directory. Needs no key. What is
sound stays: passphrases that were changed or removed since then do not come back.

With --force all is as it was in the backup, passphrases too. A FILE of - is standard
input.`,
		Args: argsOfUse,
		RunE: func(cmd *cobra.Command, args []string) error {
			return restoreKeys(cmd.OutOrStdout(), args[0], args[1], force, consoleOf(cmd))
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace what is sound but different, even another policy")
	return cmd
}

// restoreKeys puts back what a cipher directory has lost. The header, by which it becomes
// one again, comes last.
func restoreKeys(w io.Writer, file, dir string, force bool, c console) error {
	b, err := openKeyBundle(file, c)
	if err != nil {
		return err
	}
	isImage, err := checkSource(dir)
	if err != nil {
		return err
	}
	if isImage {
		return failf(exitUnsupported, "", "%s is not a cipher directory, and images are only read", dir)
	}
	needsHeader, err := b.checkRoot(dir, force)
	if err != nil {
		return err
	}
	md, err := metadataToRestore(dir)
	if err != nil {
		return err
	}
	defer md.Close()
	unlock, err := lockMetadata(md, dir)
	if err != nil {
		return err
	}
	defer unlock()
	restored, err := b.restoreMetadata(w, md, force)
	if err != nil {
		return err
	}
	if needsHeader {
		if err := dirstore.RestoreRoot(dir, b.header); err != nil {
			return err
		}
		fmt.Fprintf(w, "restored %s\n", headerName)
		restored++
	}
	if restored == 0 {
		fmt.Fprintf(w, "nothing of the backup was missing\n")
	}
	m, err := openKeyMetadata(dir, metadataPlace{})
	if err != nil {
		return err
	}
	defer m.close()
	return errors.Join(m.errs...) // of protectors that the backup has not
}

// openKeyBundle reads a bundle from a file, "-" for standard input.
func openKeyBundle(file string, c console) (*keyBundle, error) {
	r := c.in
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	b, err := readKeyBundle(r)
	if errors.Is(err, errBundle) {
		return nil, failf(exitMetadata, "use another backup", "%s: %w", file, err)
	}
	return b, err
}

// checkRoot checks that a directory is the one of the bundle, or may become it, and reports
// whether its header or the copy of that is missing or damaged. A header with another
// context, policy and nonce, is an error without force, unless its copy is the bundle's.
func (b *keyBundle) checkRoot(dir string, force bool) (needsHeader bool, err error) {
	file, copied, err := dirstore.RootHeaders(dir)
	if err != nil {
		return false, err
	}
	needsHeader = !bytes.Equal(file, b.header) || !bytes.Equal(copied, b.header)
	if force || sameContext(file, b.header) || sameContext(copied, b.header) {
		return needsHeader, nil
	}
	for _, present := range [][]byte{file, copied} {
		other := keyBundle{header: present}
		policy, err := other.rootPolicy()
		if _, ok := errors.AsType[*dirstore.UnsupportedError](err); ok {
			return false, pathError(dir, err)
		}
		if err != nil { // missing or damaged
			continue
		}
		if policy.Identifier.String() != b.policy.Name() {
			return false, failf(exitFailure, "give --force to replace it",
				"%s has policy %s, and the backup %s", dir, policy.Identifier, b.policy.Name())
		}
		return false, failf(exitFailure, "give --force to replace it", "%s has another header than the backup", dir)
	}
	if file == nil {
		st, err := dirstore.Open(dir, dirstore.Options{ReadOnly: true, Shared: true})
		if err == nil {
			st.Close()
		}
		if errors.Is(err, dirstore.ErrNotCipherDir) {
			return false, failf(exitSource, "give --force to restore it all the same", "nothing in %s says that it is a cipher directory", dir)
		}
	}
	return true, nil
}

// sameContext reports whether two headers, of which the second is sound, have the same
// context. Then the first may still have a damaged tag.
func sameContext(header, sound []byte) bool {
	a, err := dirstore.ParseHeader(header)
	if err != nil {
		return false
	}
	b, err := dirstore.ParseHeader(sound)
	return err == nil && bytes.Equal(a, b)
}

// metadataToRestore opens the .fscrypt folder of a directory, and makes what is missing of
// it.
func metadataToRestore(dir string) (*metadata.Dir, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	md, err := metadata.Open(root, true)
	if errors.Is(err, metadata.ErrMissing) {
		return metadata.Create(root)
	}
	return md, err
}

// restoreMetadata writes the policy and protectors that are missing or damaged, with force
// also those that are different, and returns how many. Of protectors, those count
// that the policy names then.
func (b *keyBundle) restoreMetadata(w io.Writer, md *metadata.Dir, force bool) (restored int, err error) {
	policy, err := md.Policy(b.policy.Name())
	needsPolicy, err := needed(policy, b.policy, err, force)
	if err != nil {
		return 0, err
	}
	if needsPolicy {
		policy = b.policy
	}
	for _, p := range b.protectors {
		if !slices.Contains(policy.Protectors(), p.Descriptor()) {
			continue // it was removed
		}
		present, err := md.Protector(p.Descriptor())
		needs, err := needed(present, p, err, force)
		if err != nil {
			return restored, err
		}
		if !needs {
			continue
		}
		if err := md.WriteProtector(p); err != nil {
			return restored, err
		}
		fmt.Fprintf(w, "restored %s/%s\n", bundleProtectors, p.Descriptor())
		restored++
	}
	if needsPolicy {
		if err := md.WritePolicy(policy); err != nil {
			return restored, err
		}
		fmt.Fprintf(w, "restored %s/%s\n", bundlePolicies, policy.Name())
		restored++
	}
	return restored, nil
}

// needed reports whether what is present, if reading it has not failed with err, has to be
// replaced by what is in the bundle. A link to another file system is sound.
func needed(present, bundled interface{ Marshal() ([]byte, error) }, err error, force bool) (bool, error) {
	if _, ok := errors.AsType[*metadata.LinkError](err); ok && !force {
		return false, nil
	}
	if errors.Is(err, metadata.ErrMissing) || errors.Is(err, metadata.ErrDamaged) {
		return true, nil
	}
	if err != nil || !force {
		return false, err
	}
	old, err := present.Marshal()
	if err != nil {
		return false, err
	}
	b, err := bundled.Marshal()
	return !bytes.Equal(old, b), err
}
