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

	"encfs/cpufeat"
	"encfs/decrypt"
	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/keys"
)

func newStatusCommand() *cobra.Command {
	var asJSON bool
	var metadata string
	var images imageFlags
	cmd := &cobra.Command{
		Use:   "status [flags] SOURCE|MOUNTPOINT",
		Short: "Show policy, cipher, protectors and mount",
		Long: `Show policy, cipher, protectors and mount of a cipher directory; of an ext4 image
or device the policies of all directories. Needs no key.
What is damaged or missing is reported, and the rest is shown.`,
		Args: argsOfUse,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := readStatus(args[0], metadataPlace{metadata, images.force}, images, consoleOf(cmd))
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
	addMetadataFlag(cmd.Flags(), &metadata)
	images.add(cmd.Flags())
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
	// DataUnit is the size of data units in bytes, 0 for that of a block.
	DataUnit int `json:"data_unit_bytes"`
	// Protectors are the IDs of those that open the policy, as far as the key
	// metadata say.
	Protectors []string `json:"protectors"`
	// Directories are the tops of what has the policy, in an image.
	Directories []string `json:"directories,omitempty"`
}

type protectorStatus struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Source string `json:"source"`
}

// readStatus finds out about a source or mount point. If something is wrong with
// it, it returns the error and, if there is any, the rest.
func readStatus(path string, elsewhere metadataPlace, images imageFlags, c console) (*sourceStatus, error) {
	mounts, err := readMounts()
	if err != nil {
		return nil, err
	}
	resolved, err := resolve(path)
	if err != nil {
		return nil, failf(exitSource, "", "%w", err)
	}
	s := &sourceStatus{Source: resolved, Kind: "directory"}
	mount, mountErr := findSourceMount(mounts, resolved, int(images.partition))
	mounted := mount != nil
	if mounted {
		s.Source, s.Mount = mount.source, mount.status
		if images.partition == 0 {
			images.partition = positive(mount.partition())
		}
	}
	source := s.Source
	errs := []error{mountErr}
	if isImage, err := checkSource(source); err == nil && isImage {
		s.Kind = "ext4"
		present := mount.takeKeys()
		v, err := openImageVolume(images.source(source), new(keys.Keyring), fs.Options{Log: foregroundLog(c.err)})
		if err != nil && !mounted {
			return nil, err
		}
		if err == nil {
			defer v.Close()
			err = s.readImage(v, elsewhere, present)
		}
		return s, errors.Join(append(errs, err)...)
	}
	if err := images.checkDirectory(); err != nil {
		return nil, err
	}
	unlocked := mounted && mountErr == nil
	policy, err := readPolicy(source)
	if err != nil {
		errs = append(errs, err)
		if mounted {
			return s, errors.Join(errs...)
		}
		return nil, err
	}
	s.Policies = []policyStatus{describePolicy(policy, unlocked)}
	m, err := openMetadata(source, policy.Identifier, elsewhere)
	if err != nil {
		return s, errors.Join(append(errs, err)...)
	}
	defer m.close()
	s.Policies[0].Protectors = m.policy.Protectors()
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

// readImage adds what an image has, read without its keys.
// present are the names of the keys that its mount has.
func (s *sourceStatus) readImage(v *fs.Volume, elsewhere metadataPlace, present []string) error {
	at := map[keys.Policy]int{}
	var errs []error
	err := encryptedTrees(v, treeSearch{}, func(t encryptedTree) bool {
		if t.err != nil {
			errs = append(errs, plainError(t.path, t.err))
			return true
		}
		n, ok := at[t.policy]
		if !ok {
			n = len(s.Policies)
			at[t.policy] = n
			s.Policies = append(s.Policies, describePolicy(t.policy, slices.Contains(present, keyName(t.policy))))
		}
		s.Policies[n].Directories = append(s.Policies[n].Directories, t.path)
		return true
	})
	errs = append(errs, err)
	m, err := openImageMetadata(v, elsewhere)
	if m == nil {
		return errors.Join(append(errs, err)...)
	}
	defer m.close()
	for n := range s.Policies {
		for _, p := range m.policies {
			if p.Name() == s.Policies[n].Key {
				s.Policies[n].Protectors = p.Protectors()
			}
		}
	}
	for _, p := range m.protectors {
		s.Protectors = append(s.Protectors, protectorStatus{p.Descriptor(), p.Name(), p.Source().String()})
	}
	return errors.Join(append(errs, m.errs...)...)
}

// keyName returns the name that a policy has for its master key.
func keyName(p keys.Policy) string {
	if p.Version == 1 {
		return p.Descriptor.String()
	}
	return p.Identifier.String()
}

func describePolicy(p keys.Policy, unlocked bool) policyStatus {
	s := policyStatus{
		Version: p.Version, Contents: p.Contents.String(), Filenames: p.Filenames.String(),
		Padding: p.Padding(), Flags: []string{}, Key: keyName(p), Unlocked: unlocked, Protectors: []string{},
	}
	if p.Log2DataUnitSize != 0 {
		s.DataUnit = 1 << p.Log2DataUnitSize
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
	kind := "cipher directory"
	if s.Kind == "ext4" {
		kind = "ext4, read-only"
	}
	line("source", "%s (%s)", s.Source, kind)
	for _, p := range s.Policies {
		line("policy", "%s, version %d", p.Key, p.Version)
		line("contents", "%s, driver %s", p.Contents, p.Driver)
		line("names", "%s, padded to %d bytes", p.Filenames, p.Padding)
		if len(p.Flags) > 0 {
			line("flags", "%s", strings.Join(p.Flags, ", "))
		}
		if p.DataUnit != 0 {
			line("data units", "of %d bytes", p.DataUnit)
		}
		if s.Kind == "ext4" && len(p.Protectors) > 0 {
			line("opened by", "%s", strings.Join(p.Protectors, ", "))
		}
		for _, dir := range p.Directories {
			line("directory", "%s", dir)
		}
		switch {
		case p.Unlocked:
			line("key", "present, in the mount")
		default:
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
