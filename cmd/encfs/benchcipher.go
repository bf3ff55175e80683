package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"encfs/cmd/encfs/internal/bench"
	"encfs/cmd/encfs/internal/htmlreport"
	"encfs/cpufeat"
	"encfs/decrypt"
	"encfs/keys"
)

func newBenchCipherCommand() *cobra.Command {
	var cellFlags cellFlags
	var ciphers, drivers string
	var o bench.CipherOptions
	var page reportFlag
	format := newChoice("table", "json", "benchfmt")
	cmd := &cobra.Command{
		Use:   "cipher [flags]",
		Short: "Measure the cipher drivers",
		Long: `Measure every driver that this CPU can run, or those that are asked for: how many
megabytes (10^6 bytes) it encrypts and decrypts in a second on one CPU, in place, in
data units of 512 bytes, 4 KiB and 64 KiB. The self-test is timed apart.`,
		Args: argsOfUse,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cells, err := cellFlags.cells()
			if err != nil {
				return err
			}
			if o.Runs < 1 || o.Time < 0 {
				return usagef("--runs and --time: must be positive")
			}
			var results []bench.CipherResult
			for _, c := range cells {
				chosen, err := chooseDrivers(decrypt.Drivers(), ciphers, drivers, c.have)
				if err != nil {
					return err
				}
				r, err := measureCiphers(cmd.Context(), c, chosen, o, cmd.ErrOrStderr())
				if err != nil {
					return err
				}
				results = append(results, r...)
			}
			return errors.Join(
				writeResults(cmd.OutOrStdout(), format.value, results, bench.WriteCipherTable, bench.WriteCipherBenchfmt),
				page.write(cmd, htmlreport.Page{Cipher: results}))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&ciphers, "cipher", "", "measure the drivers of the ciphers in `LIST`, which are modes such as aes-256-xts or algorithms such as xts(aes)")
	flags.StringVar(&drivers, "driver", "", "measure the drivers in `LIST`")
	flags.IntVar(&o.Runs, "runs", 5, "measure everything `N` times, for the spread")
	flags.DurationVar(&o.Time, "time", 20*time.Millisecond, "measure for `DURATION` at least, each time")
	cellFlags.add(flags)
	format.add(flags, "format", "form of the results")
	page.add(cmd)
	return cmd
}

// measureCiphers measures drivers, at least one, which a CPU with the features of the
// cell can run. What a process that is started for that has to say goes to stderr.
func measureCiphers(ctx context.Context, c cell, drivers []decrypt.Driver, o bench.CipherOptions, stderr io.Writer) ([]bench.CipherResult, error) {
	if !c.apart() {
		o.Cleared = c.cleared
		return bench.Cipher(drivers, o)
	}
	var names []string
	for _, d := range drivers {
		names = append(names, d.Name)
	}
	var results []bench.CipherResult
	err := resultsOf(c.apartCommand(ctx, "cipher", "--driver", strings.Join(names, ","),
		"--runs", strconv.Itoa(o.Runs), "--time", o.Time.String()), &results, stderr)
	return results, err
}

// chooseDrivers returns those of all that two lists name, without lists all that can
// run with the features in have. A driver that is named must be able to.
func chooseDrivers(all []decrypt.Driver, ciphers, drivers string, have cpufeat.Set) ([]decrypt.Driver, error) {
	algorithms, err := parseCiphers(ciphers)
	if err != nil {
		return nil, err
	}
	names := splitList(drivers)
	for _, name := range names {
		i := slices.IndexFunc(all, func(d decrypt.Driver) bool { return d.Name == name })
		if i < 0 {
			return nil, checkDriver(name)
		}
		if d := all[i]; !have.Has(d.Needs) {
			return nil, explainDriver(&decrypt.UnusableError{Driver: d, Have: have})
		}
	}
	var chosen []decrypt.Driver
	for _, d := range all {
		if have.Has(d.Needs) &&
			(len(algorithms) == 0 || slices.Contains(algorithms, d.Algorithm)) &&
			(len(names) == 0 || slices.Contains(names, d.Name)) {
			chosen = append(chosen, d)
		}
	}
	if len(chosen) == 0 {
		return nil, usagef("--cipher %s and --driver %s have nothing in common", ciphers, drivers)
	}
	return chosen, nil
}

// parseCiphers returns the algorithms of a list of modes and algorithms. Its errors are
// of usage.
func parseCiphers(list string) ([]string, error) {
	var algorithms, known []string
	for _, a := range decrypt.Algorithms() {
		known = append(known, a.Name)
	}
	for _, word := range splitList(list) {
		if slices.Contains(known, word) {
			algorithms = append(algorithms, word)
			continue
		}
		m, err := keys.ParseMode(word)
		if errors.Is(err, keys.ErrUnknownMode) {
			return nil, usagef("--cipher: %w, %s", err, strings.Join(known, ", "))
		}
		algorithms = append(algorithms, m.Algorithm())
	}
	return algorithms, nil
}
