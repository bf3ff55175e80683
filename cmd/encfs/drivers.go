package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"encfs/cpufeat"
	"encfs/decrypt"
	"encfs/keys"
)

func newDriversCommand() *cobra.Command {
	var drivers driverFlags
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "drivers [flags]",
		Short: "List the cipher drivers",
		Long: `List the cipher drivers as /proc/crypto lists those of the kernel: algorithm, driver,
priority, whether it is the one in use, its self-test, and the CPU features that
it needs. A driver that this CPU cannot run is there with the reason.

The self-test is run of the drivers in use, as a mount does it, of all with
--selftest full, and of none with --selftest off.`,
		Args: argsOfUse,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := drivers.parse()
			if err != nil {
				return err
			}
			rows, err := listDrivers(o, all, consoleOf(cmd))
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), rows)
			}
			return printDrivers(cmd.OutOrStdout(), rows)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&all, "all", false, "include ciphers that no file is encrypted with, which are for benchmarks")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	drivers.addTable(flags)
	return cmd
}

// driverStatus is what drivers shows of one, in the form of its JSON.
type driverStatus struct {
	Algorithm string   `json:"algorithm"`
	Driver    string   `json:"driver"`
	Priority  int      `json:"priority"`
	Needs     []string `json:"needs"`
	Usable    bool     `json:"usable"`
	Why       string   `json:"why"` // it is not usable, or failed
	Selected  bool     `json:"selected"`
	SelfTest  string   `json:"selftest"`

	needs cpufeat.Set
}

// listDrivers tests drivers as the options say and returns what is known of all then.
func listDrivers(o driverOptions, all bool, c console) ([]driverStatus, error) {
	// An algorithm without any driver left is to be seen in the list: so full is done
	// here, one by one.
	full := o.SelfTest == decrypt.SelfTestFull.String()
	if full {
		o.SelfTest = decrypt.SelfTestLazy.String()
	}
	table, err := o.table(foregroundLog(c.err))
	if err != nil {
		return nil, err
	}
	if full && table.SelfTests() == decrypt.SelfTestOff {
		return nil, fmt.Errorf("--selftest full: %w", decrypt.ErrNoSelfTests)
	}
	for _, r := range table.Results() {
		if full && r.Usable {
			table.LookupName(r.Driver.Name)
		} else {
			table.Lookup(r.Driver.Algorithm)
		}
	}
	return describeDrivers(table.Results(), table.Features(), all), nil
}

func describeDrivers(results []decrypt.Result, have cpufeat.Set, all bool) []driverStatus {
	cpu := cpufeat.Detect()
	rows := []driverStatus{}
	for _, r := range results {
		if !all && !forFiles(r.Driver.Algorithm) {
			continue
		}
		row := driverStatus{
			Algorithm: r.Driver.Algorithm, Driver: r.Driver.Name, Priority: r.Priority,
			Needs: featureNames(r.Driver.Needs), Usable: r.Usable,
			Why:      cpu.Explain(r.Driver.Needs, have),
			Selected: r.Selected, SelfTest: r.State.String(), needs: r.Driver.Needs,
		}
		if r.State == decrypt.Failed {
			row.Usable, row.Why = false, r.Err.Error()
		}
		rows = append(rows, row)
	}
	return rows
}

// forFiles reports whether a mode of fscrypt has this algorithm.
func forFiles(algorithm string) bool {
	return slices.ContainsFunc(keys.Modes(), func(m keys.Mode) bool { return m.Algorithm() == algorithm })
}

func printDrivers(w io.Writer, rows []driverStatus) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "ALGORITHM\tDRIVER\tPRIORITY\tUSE\tSELF-TEST\tNEEDS")
	for _, r := range rows {
		use := "usable"
		switch {
		case r.Selected:
			use = "selected"
		case !r.Usable:
			use = "no"
		}
		needs := r.needs.String()
		if needs == "" {
			needs = "-"
		}
		if r.Why != "" {
			needs += ": " + r.Why
		}
		fmt.Fprintf(tw, "%s\t%s\t%d\t%s\t%s\t%s\n", r.Algorithm, r.Driver, r.Priority, use, r.SelfTest, printable(needs))
	}
	return tw.Flush()
}
