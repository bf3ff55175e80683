package main

import (
	"context"
	"errors"
	"io"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"encfs/cmd/encfs/internal/bench"
	"encfs/cmd/encfs/internal/htmlreport"
)

// tarRequest is what the arguments of bench tar ask for, besides the cells.
type tarRequest struct {
	tree string    // empty: one is generated
	size kibibytes // of that, in KiB
	temp string    // where temporary files go; empty for the usual place
	out  outFlag   // for the results

	progress progressFlag
	report   func([]bench.TarResult) error // writes what --report asks for
}

func newBenchTarCommand() *cobra.Command {
	var cells tarFlags
	var r tarRequest
	var page reportFlag
	runs := 5
	format := newChoice("table", "json", "benchfmt")
	r.size = 128 << 10
	cmd := &cobra.Command{
		Use:   "tar [flags]",
		Short: "Time tars of a tree through real mounts",
		Long: `Time tars of a tree through mounts, each with another queue, cipher, driver and
number of tars: the experiment that moved fscrypt's decryption from a bound to an
unbound workqueue in 2018.

For each run of each cell the tree, encrypted, is mounted anew, by a process of its
own as with "encfs mount", and processes read it as tar does, each a part
of it with about as many bytes. What they take together is a run. Runs of all
cells take turns. Two more cells are the lower tree without a mount (queue and
cipher "none"), and a mount without encryption (cipher "null"): they show what FUSE
costs, and the rest is what decryption does.

With a cold cache the mount is new, and the kernel has nothing of it; with a warm one
it was read just before. The cache of the lower file system is warm in both, so that
the disk does not count. The tree should therefore fit into memory, encrypted and
plain.

The ratios are of speed: how many times as fast unbound queues are as the bound
one, and auto as the best of the others, with an interval that has the true one in it
with a probability of 95 %. That takes four runs.

Files are made in a temporary directory, and removed: the tree, which is generated
unless --tree names one, and an encrypted copy for each cipher, with a key that
everybody knows.`,
		Args: argsOfUse,
		RunE: func(cmd *cobra.Command, _ []string) error {
			own, err := ownCPUs()
			if err != nil {
				return err
			}
			plan, err := cells.plan(own)
			if err != nil {
				return err
			}
			if runs < 1 {
				return usagef("--runs: must be positive")
			}
			if r.tree != "" && cmd.Flags().Changed("size") {
				return usagef("--size is for a generated tree, not for --tree")
			}
			if err := r.out.prepare(page); err != nil {
				return err
			}
			plan.runs = runs
			r.report = func(results []bench.TarResult) error {
				return page.write(cmd, htmlreport.Page{Tar: results})
			}
			return benchTar(cmd.OutOrStdout(), r, plan, format.value, consoleOf(cmd))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&r.tree, "tree", "", "read a copy of the files in `DIR` rather than generated ones")
	flags.Var(&r.size, "size", "generate a tree of this size, in KiB or with KiB, MiB or GiB behind: a sixteenth of it in files as source code has them, the rest in 16 large ones")
	flags.IntVar(&runs, "runs", runs, "measure everything `N` times, for the spread")
	cells.add(flags)
	flags.StringVar(&r.temp, "temp", "", "make temporary files in `DIR`, which is on the file system to measure on")
	r.out.add(flags)
	r.progress.add(flags)
	format.add(flags, "format", "form of the results")
	page.add(cmd)
	return cmd
}

// benchTar runs the experiment and writes what it has measured, also if it was
// interrupted or failed.
func benchTar(stdout io.Writer, r tarRequest, plan *tarPlan, format string, c console) error {
	if err := checkFUSE(false); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), notIgnored(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)...)
	defer stop()
	p := r.progress.on(c.err)
	p.start()
	results, err := runTarPlan(ctx, r, plan, p)
	p.stop()
	if ctx.Err() != nil {
		runs := 0
		for _, result := range results {
			runs += len(result.Seconds)
		}
		err = failf(exitFailure, "", "interrupted after %d of %d runs", runs, plan.cells()*plan.runs)
	}
	if len(results) == 0 {
		return err
	}
	written := r.out.write(stdout, func(w io.Writer) error {
		return writeResults(w, format, results, bench.WriteTarTable, bench.WriteTarBenchfmt)
	})
	return errors.Join(written, r.report(results), err)
}
