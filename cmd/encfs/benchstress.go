package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"encfs/cmd/encfs/internal/bench"
	"encfs/cmd/encfs/internal/htmlreport"
	"encfs/decrypt"
)

func newBenchStressCommand() *cobra.Command {
	var cellFlags cellFlags
	var tests driverFlags
	var seconds float64
	var o bench.StressOptions
	var page reportFlag
	format := newChoice("table", "json", "benchfmt")
	cmd := &cobra.Command{
		Use:   "stress [flags]",
		Short: "Do operations of every algorithm, round and round",
		Long: `Do operations of every algorithm, round and round: each cipher with the driver that
is best, hashes, and key derivations. An operation is on 1024 bytes, or derives a key.
Operations in a second of CPU time are printed in total, which is what the CPUs do of
all of them together, and for each algorithm. Everything is in the program, and
nothing is read or written.

With --clear-cpu it shows what a feature is worth that the CPU or the operating
system has lost:

  encfs bench stress --clear-cpu '' --clear-cpu osxsave

Hashes and portable drivers of AES are those of Go, which finds the features of the
CPU by itself. Without aes Go's AES does without, too, in a process of its own; the
others it keeps.`,
		Args: argsOfUse,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cells, err := cellFlags.cells()
			if err != nil {
				return err
			}
			mode, err := decrypt.ParseSelfTest(tests.selfTest.value)
			if err != nil {
				return usageError{err}
			}
			if !(seconds > 0 && seconds < 1e9) { // NaN is not, and more is too much for a Duration
				return usagef("--seconds: must be more than 0 and less than 10^9")
			}
			if o.Workers < 1 {
				return usagef("--workers: must be positive")
			}
			o.Duration = time.Duration(seconds * float64(time.Second))
			var results []bench.StressResult
			for _, c := range cells {
				r, err := stressCell(cmd.Context(), c, mode, o, cmd.ErrOrStderr())
				if err != nil {
					return err
				}
				results = append(results, r)
			}
			return errors.Join(
				writeStress(cmd.OutOrStdout(), format.value, results),
				page.write(cmd, htmlreport.Page{Stress: results}))
		},
	}
	flags := cmd.Flags()
	flags.Float64Var(&seconds, "seconds", 10, "work for `N` seconds, with each list of --clear-cpu")
	flags.IntVar(&o.Workers, "workers", runtime.NumCPU(), "have `N` workers at the same time")
	cellFlags.add(flags)
	tests.addSelfTest(flags)
	format.add(flags, "format", "form of the results")
	page.add(cmd)
	return cmd
}

// stressCell works with the features of the cell.
func stressCell(ctx context.Context, c cell, mode decrypt.SelfTest, o bench.StressOptions, stderr io.Writer) (bench.StressResult, error) {
	if c.apart() {
		var r bench.StressResult
		err := resultsOf(c.apartCommand(ctx, "stress", "--seconds", strconv.FormatFloat(o.Duration.Seconds(), 'g', -1, 64),
			"--workers", strconv.Itoa(o.Workers), "--selftest", mode.String()), &r, stderr)
		return r, err
	}
	table, err := decrypt.NewTable(c.have, mode, foregroundLog(stderr))
	if err != nil {
		return bench.StressResult{}, err
	}
	o.Cleared = c.cleared
	return bench.Stress(table, o)
}

// writeStress writes results; as JSON a single one is an object, several are an array.
func writeStress(w io.Writer, format string, results []bench.StressResult) error {
	switch {
	case format == "benchfmt":
		return bench.WriteStressBenchfmt(w, results)
	case format == "json" && len(results) == 1:
		return writeJSON(w, results[0])
	case format == "json":
		return writeJSON(w, results)
	}
	for i, r := range results {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := bench.WriteStressTable(w, r); err != nil {
			return err
		}
	}
	if len(results) < 2 {
		return nil
	}
	fmt.Fprintln(w)
	for _, r := range results[1:] {
		change := 100 * (r.OpsPerS - results[0].OpsPerS) / results[0].OpsPerS
		what := "with all features"
		if len(r.Cleared) > 0 {
			what = "without " + strings.Join(r.Cleared, ",")
		}
		if _, err := fmt.Fprintf(w, "%+.1f%% in total %s\n", change, what); err != nil {
			return err
		}
	}
	return nil
}
