package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"encfs/keys/metadata"
)

// A listedProtector is a line of protector list, in the form of its JSON.
type listedProtector struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Source string `json:"source"`
	// Changed is the time of the last change of its file, absent if that is in an image.
	Changed *time.Time `json:"changed"`
	// Argon2id are the costs of hashing its passphrase, absent of a raw key.
	Argon2id *listedCosts `json:"argon2id"`
}

type listedCosts struct {
	Time        int64 `json:"time"`
	MemoryKiB   int64 `json:"memory_kib"`
	Parallelism int64 `json:"parallelism"`
}

func newProtectorListCommand() *cobra.Command {
	var asJSON bool
	var elsewhere metadataPlace
	cmd := &cobra.Command{
		Use:   "list [flags] CIPHERDIR",
		Short: "List what opens a cipher directory",
		Long: `List the protectors of a cipher directory, with the kind of secret that opens each,
the time of its last change and what it costs to hash its passphrase. Needs no key.
What is damaged or missing is reported, and the rest is listed.`,
		Args: argsOfUse,
		RunE: func(cmd *cobra.Command, args []string) error {
			return listProtectors(cmd.OutOrStdout(), args[0], elsewhere, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	addMetadataFlag(cmd.Flags(), &elsewhere.path)
	return cmd
}

func listProtectors(w io.Writer, source string, elsewhere metadataPlace, asJSON bool) error {
	m, err := openKeyMetadata(source, elsewhere)
	if err != nil {
		return err
	}
	defer m.close()
	list := make([]listedProtector, 0, len(m.protectors))
	for _, p := range m.protectors {
		list = append(list, describeProtector(p))
	}
	print := printProtectors
	if asJSON {
		print = func(w io.Writer, list []listedProtector) error { return writeJSON(w, list) }
	}
	return errors.Join(append([]error{print(w, list)}, m.errs...)...)
}

func describeProtector(p placedProtector) listedProtector {
	l := listedProtector{ID: p.Descriptor(), Name: p.Name(), Source: p.Source().String()}
	if p.Source() == metadata.LoginPassphrase && l.Name == "" {
		l.Name = fmt.Sprintf("login passphrase of user %d", p.UID())
	}
	if t, err := p.dir.ProtectorTime(p.Descriptor()); err == nil {
		t = t.Truncate(time.Second)
		l.Changed = &t
	}
	if p.Source().Passphrase() {
		c := p.Costs()
		l.Argon2id = &listedCosts{c.Time, c.Memory, c.Parallelism}
	}
	return l
}

func printProtectors(w io.Writer, list []listedProtector) error {
	if len(list) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tSOURCE\tCHANGED\tARGON2ID\tNAME")
	for _, l := range list {
		changed, costs := "-", "-"
		if l.Changed != nil {
			changed = l.Changed.Format("2006-01-02 15:04:05")
		}
		if c := l.Argon2id; c != nil {
			costs = fmt.Sprintf("time %d, %s, parallelism %d", c.Time, memorySize(c.MemoryKiB), c.Parallelism)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", l.ID, l.Source, changed, costs, printable(fmt.Sprintf("%q", l.Name)))
	}
	return t.Flush()
}

// memorySize returns an amount of memory in MiB if it is a whole number of them.
func memorySize(kib int64) string {
	if kib >= 1<<10 && kib%(1<<10) == 0 {
		return fmt.Sprintf("%d MiB", kib>>10)
	}
	return fmt.Sprintf("%d KiB", kib)
}
