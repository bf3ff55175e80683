package main

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"encfs/fs/dirstore"
	"encfs/keys/metadata"
)

func newProtectorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "protector",
		Short: "List and change what opens a cipher directory",
		Long: `List and change what opens a cipher directory: passphrases and raw keys, each of
which has a protector, a small file in CIPHERDIR/.fscrypt/protectors. The files stay
as they are, and a mount goes on.

Copies of .fscrypt made before a change, in backups say, still open with what
opened them.`,
		Args: argsOfGroup,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newProtectorListCommand(),
		newProtectorAddCommand(),
		newProtectorRemoveCommand(),
		newProtectorChangeCommand(),
	)
	return cmd
}

// openKeyMetadata opens the key metadata of a cipher directory without a key. The
// caller closes them.
func openKeyMetadata(source string, elsewhere metadataPlace) (*keyMetadata, error) {
	st, err := openStore(source, dirstore.Options{ReadOnly: true, Shared: true})
	if err != nil {
		return nil, err
	}
	defer st.Close()
	policy, err := rootPolicy(source, st)
	if err != nil {
		return nil, err
	}
	return openMetadata(source, policy.Identifier, elsewhere)
}

// metadataPatience is how long a lock of key metadata is tried: another command has
// it while it hashes a passphrase and writes two files.
const metadataPatience = 30 * time.Second

// change calls f to change key metadata. Nobody else who uses change does so
// meanwhile, and what others have done before is known to f.
func (m *keyMetadata) change(source string, f func() error) error {
	unlock, err := lockMetadata(m.dirs[0], source)
	if err != nil {
		return err
	}
	defer unlock()
	if err := m.readPolicy(m.policy.Name()); err != nil {
		return err
	}
	return f()
}

// lockMetadata locks the key metadata of a cipher directory, and waits while somebody else
// has them locked.
func lockMetadata(dir *metadata.Dir, source string) (unlock func(), err error) {
	end := time.Now().Add(metadataPatience)
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		unlock, err = dir.Lock()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return unlock, err
		}
		if time.Now().After(end) {
			return nil, failf(exitBusy, "try again when it has ended", "another encfs changes the protectors of %s", source)
		}
		time.Sleep(pause)
	}
}

// checkKnown checks that the policy has a protector, readable or not, and returns its
// descriptor as the policy has it.
func (m *keyMetadata) checkKnown(source, id string) (string, error) {
	if d := strings.ToLower(id); slices.Contains(m.policy.Protectors(), d) {
		return d, nil
	}
	return "", failf(exitKey, m.knownHint(), "%s has no protector %s", source, id)
}

func (m *keyMetadata) knownHint() string {
	known := m.policy.Protectors()
	if len(known) == 0 {
		return "it has none at all"
	}
	return "known are " + strings.Join(known, ", ")
}

// otherPolicies reports whether a policy other than this one has the protector, or may
// have it as it cannot be read: directories can share a .fscrypt folder.
func (m *keyMetadata) otherPolicies(descriptor string) bool {
	policies, err := m.dirs[0].Policies()
	if err != nil {
		return true
	}
	for _, p := range policies {
		if p.Name() == m.policy.Name() {
			continue
		}
		if slices.Contains(p.Protectors(), descriptor) {
			return true
		}
	}
	return false
}
