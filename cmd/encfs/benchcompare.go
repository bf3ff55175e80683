package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"encfs/cmd/encfs/internal/bench"
	"encfs/cmd/encfs/internal/htmlreport"
)

func newBenchCompareCommand() *cobra.Command {
	var threshold float64
	var page reportFlag
	format := newChoice("table", "json")
	cmd := &cobra.Command{
		Use:   "compare [flags] OLD NEW",
		Short: "Compare two files of results",
		Long: `Compare two files of results, in JSON as encfs bench writes it or in Go's benchmark
format: medians, spread, and the change in percent, as the kernel's test robot
reports it. p is how likely such a change is where nothing has changed, by the U
test of Mann and Whitney; it takes four runs on either side to tell.

The exit code is 1 if something is worse by more than the threshold and p is less
than 0.05, or cannot tell.`,
		Args: argsOfUse,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !(threshold >= 0) { // nor NaN
				return usagef("--threshold: must not be negative")
			}
			var read [2]*bench.Measurements
			for i, name := range args {
				var err error
				if read[i], err = readMeasurements(name); err != nil {
					return err
				}
			}
			c := consoleOf(cmd)
			changes, onlyOld, onlyNew := bench.Compare(read[0], read[1])
			for i, only := range [][]string{onlyOld, onlyNew} {
				if len(only) > 0 {
					c.notef("only in %s: %s", args[i], strings.Join(only, ", "))
				}
			}
			if len(changes) == 0 {
				return failf(exitFailure, "", "%s and %s have nothing in common", args[0], args[1])
			}
			err := errors.Join(
				writeChanges(cmd, format.value, changes, args),
				page.write(cmd, htmlreport.Page{Changes: &htmlreport.Changes{
					Old: filepath.Base(args[0]), New: filepath.Base(args[1]),
					Changes: changes, OnlyOld: onlyOld, OnlyNew: onlyNew,
				}}))
			if err != nil {
				return err
			}
			return judgeChanges(changes, threshold)
		},
	}
	flags := cmd.Flags()
	flags.Float64Var(&threshold, "threshold", 5, "tolerate what is worse by `PERCENT`")
	format.add(flags, "format", "form of the results")
	page.add(cmd)
	return cmd
}

func readMeasurements(name string) (*bench.Measurements, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := bench.ReadMeasurements(f)
	return m, pathError(name, err)
}

func writeChanges(cmd *cobra.Command, format string, changes []bench.Change, files []string) error {
	if format == "json" {
		return writeJSON(cmd.OutOrStdout(), changes)
	}
	return bench.WriteChanges(cmd.OutOrStdout(), changes, filepath.Base(files[0]), filepath.Base(files[1]))
}

func judgeChanges(changes []bench.Change, threshold float64) error {
	worse := 0
	for _, c := range changes {
		if c.Regressed(threshold) {
			worse++
		}
	}
	if worse == 0 {
		return nil
	}
	return failf(exitFailure, "", "%d of %d are worse by more than %g %%", worse, len(changes), threshold)
}
