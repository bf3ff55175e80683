package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"encfs/cpufeat"
	"encfs/decrypt"
	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/keys"
)

func newStatusCommand() *cobra.Command {
	var asJSON bool
	var metadata string
	cmd := &cobra.Command{
		Use:   "status [flags] SOURCE|MOUNTPOINT",
		Short: "Show policy, cipher, protectors and mount",
		Long: `Show policy, cipher, protectors and mount of a cipher directory. Needs no key.
What is damaged or missing is reported, and the rest is shown.`,
		Args: argsOfUse,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := readStatus(args[0], metadata)
			if s == nil {
				return err
			}
			print := s.printText
			if asJSON {
				print = s.printJSON
			}
			return errors.Join(print(cmd.OutOrStdout()), err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&metadata, "metadata", "", "look for linked protectors in this `DIR`, too")
	return cmd
}

// sourceStatus is what status shows, in the form of its JSON.
type sourceStatus struct {
	Source     string            `json:"source"`
	Kind       string            `json:"kind"`
	Policies   []policyStatus    `json:"policies"`
	Protectors []protectorStatus `json:"protectors"`
	Mount      map[string]any    `json:"mount,omitempty"`
}

type policyStatus struct {
	Version   uint8    `json:"version"`
	Contents  string   `json:"contents"`
	Filenames string   `json:"filenames"`
	Padding   int      `json:"padding"`
	Flags     []string `json:"flags"`
	Key       string   `json:"key"`
	Unlocked  bool     `json:"unlocked"`
	Driver    string   `json:"driver"` // for contents, on this machine
}

type protectorStatus struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Source string `json:"source"`
}

// readStatus finds out about a source or mount point. If something is wrong with
// it, it returns the error and, if there is any, the rest.
func readStatus(path, otherMetadata string) (*sourceStatus, error) {
	mounts, err := readMounts()
	if err != nil {
		return nil, err
	}
	resolved, err := resolve(path)
	if err != nil {
		return nil, failf(exitSource, "", "%w", err)
	}
	source := resolved
	mount, mounted := findMount(mounts, resolved)
	if mounted = mounted && mount.fsType == fuseType; mounted {
		source = mount.source
	} else {
		for _, m := range mounts {
			if m.fsType == fuseType && m.source == source {
				mount, mounted = m, true
			}
		}
	}
	s := &sourceStatus{Source: source, Kind: "directory"}
	var errs []error
	unlocked := false
	if mounted {
		s.Mount, err = readMountStatus(mount)
		errs = append(errs, err)
		unlocked = err == nil
	}
	policy, err := readPolicy(source)
	if err != nil {
		errs = append(errs, err)
		if mounted {
			return s, errors.Join(errs...)
		}
		return nil, err
	}
	s.Policies = []policyStatus{describePolicy(policy, unlocked)}
	m, err := openMetadata(source, policy.Identifier, otherMetadata)
	if err != nil {
		return s, errors.Join(append(errs, err)...)
	}
	defer m.close()
	for _, p := range m.protectors {
		s.Protectors = append(s.Protectors, protectorStatus{p.Descriptor(), p.Name(), p.Source().String()})
	}
	return s, errors.Join(append(errs, m.errs...)...)
}

func readPolicy(source string) (keys.Policy, error) {
	st, err := openStore(source, dirstore.Options{ReadOnly: true, Shared: true})
	if err != nil {
		return keys.Policy{}, err
	}
	defer st.Close()
	return rootPolicy(source, st)
}

// readMountStatus asks a mount how it works.
func readMountStatus(m mountEntry) (map[string]any, error) {
	status := map[string]any{"mountpoint": m.point}
	buf := make([]byte, 64<<10)
	n, err := unix.Getxattr(m.point, fs.StatusXattr, buf)
	switch {
	case errors.Is(err, unix.ENOTCONN):
		return status, serverGone(m.point)
	case err != nil:
		return status, failf(exitMountPoint, "", "mount point %s: %w", m.point, err)
	}
	if err := json.Unmarshal(buf[:n], &status); err != nil {
		return status, failf(exitMountPoint, "", "mount point %s: %w", m.point, err)
	}
	return status, nil
}

func describePolicy(p keys.Policy, unlocked bool) policyStatus {
	s := policyStatus{
		Version: p.Version, Contents: p.Contents.String(), Filenames: p.Filenames.String(),
		Padding: p.Padding(), Flags: []string{}, Key: p.Identifier.String(), Unlocked: unlocked,
	}
	for _, f := range []struct {
		flag keys.Flags
		name string
	}{
		{keys.FlagDirectKey, "direct_key"}, {keys.FlagIVInoLblk64, "iv_ino_lblk_64"}, {keys.FlagIVInoLblk32, "iv_ino_lblk_32"},
	} {
		if p.Flags&f.flag != 0 {
			s.Flags = append(s.Flags, f.name)
		}
	}
	if d, err := decrypt.Lookup(p.Contents.Algorithm(), cpufeat.Host()); err == nil {
		s.Driver = d.Name
	}
	return s
}

func (s *sourceStatus) printJSON(w io.Writer) error {
	out := *s
	if out.Policies == nil {
		out.Policies = []policyStatus{}
	}
	if out.Protectors == nil {
		out.Protectors = []protectorStatus{}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

func (s *sourceStatus) printText(w io.Writer) error {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s %s\n", label, printable(fmt.Sprintf(format, args...)))
	}
	line("source", "%s (cipher %s)", s.Source, s.Kind)
	for _, p := range s.Policies {
		line("policy", "%s, version %d", p.Key, p.Version)
		line("contents", "%s, driver %s", p.Contents, p.Driver)
		line("names", "%s, padded to %d bytes", p.Filenames, p.Padding)
		if len(p.Flags) > 0 {
			line("flags", "%s", strings.Join(p.Flags, ", "))
		}
		if p.Unlocked {
			line("key", "present, in the mount")
		} else {
			line("key", "not present")
		}
	}
	for _, p := range s.Protectors {
		line("protector", "%s %s %q", p.ID, p.Source, p.Name)
	}
	if s.Mount == nil {
		line("mount", "none")
	} else {
		line("mount", "%s", s.Mount["mountpoint"])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Mount)) {
		if name != "mountpoint" {
			line("  "+name, "%v", s.Mount[name])
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
