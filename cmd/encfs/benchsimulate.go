package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"encfs/cmd/encfs/internal/bench"
	"encfs/cmd/encfs/internal/htmlreport"
	"encfs/cpufeat"
	"encfs/decrypt"
	"encfs/workqueue"
)

// A simulateRequest is what the arguments of bench simulate ask for, besides the cells.
type simulateRequest struct {
	measured string // file with results of bench tar; empty: they are made
	tree     string // that they were measured with; empty for a generated one
	times    string // file with service times
	speeds   string // of drivers
	seed     uint64

	report func([]bench.TarResult) error // writes what --report asks for
}

func newBenchSimulateCommand() *cobra.Command {
	var r simulateRequest
	var cells simulateFlags
	var page reportFlag
	format := newChoice("table", "json", "benchfmt")
	cmd := &cobra.Command{
		Use:   "simulate [flags]",
		Short: "Compute what bench tar would measure on other machines",
		Long: `Compute what bench tar would measure on machines with more CPUs, by a model: the
queues that a mount has, with their workers and all that they decide, on threads of a
machine that is simulated, event by event.

How long the parts of it take is measured here: ciphers one by one, and tars, the kernel,
FUSE and the wake-up of workers by mounts without encryption, to which the model is
fitted. Such mounts are in what bench tar writes with

  encfs bench tar --cipher null,aes-256-xts --format json --out FILE

which --measured takes: the model then is first compared with everything in it. Without,
a few mounts without encryption are measured first. What cannot be measured on a machine
with few CPUs, such as the way to another cache, is as on a typical one.

The results depend on nothing but the service times, which --times keeps, and --seed.`,
		Args: argsOfUse,
		RunE: func(cmd *cobra.Command, _ []string) error {
			plan, err := cells.plan()
			if err != nil {
				return err
			}
			r.report = func(results []bench.TarResult) error {
				return page.write(cmd, htmlreport.Page{Tar: results})
			}
			return benchSimulate(cmd.OutOrStdout(), r, plan, format.value, consoleOf(cmd))
		},
	}
	flags := cmd.Flags()
	cells.add(flags)
	flags.StringVar(&r.measured, "measured", "", "compare with the results in `FILE`, which bench tar --format json has written on this machine")
	flags.StringVar(&r.tree, "tree", "", "these were measured with --tree `DIR`")
	flags.StringVar(&r.times, "times", "", "take service times from `FILE`; if that is not there, write them to it")
	flags.StringVar(&r.speeds, "speed", "", "take some drivers to be as fast as a `LIST` such as xts-speck128-generic=60 says, in megabytes (10^6 bytes) in a second, whatever they are here")
	flags.Uint64Var(&r.seed, "seed", 1, "vary service times at random as `N` says")
	page.add(cmd)
	format.add(flags, "format", "form of the results")
	return cmd
}

// benchSimulate computes all cells and writes the results, also if it was interrupted.
func benchSimulate(stdout io.Writer, r simulateRequest, plan *simulatePlan, format string, c console) error {
	ctx, stop := signal.NotifyContext(context.Background(), notIgnored(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)...)
	defer stop()
	speeds, err := parseSpeeds(r.speeds)
	if err != nil {
		return err
	}
	var measured []bench.SimulatedCell
	var here []bench.TarResult // what was measured
	if r.measured != "" {
		if measured, here, err = r.measuredCells(plan); err != nil {
			return err
		}
	} else if r.tree != "" {
		return usagef("--tree: is for the results of --measured")
	}
	times, err := r.serviceTimes(ctx, measured, slices.Concat(plan.cells, measured), c)
	if err != nil {
		return err
	}
	for driver, speed := range speeds {
		times.SetSpeed(driver, false, speed)
		times.SetSpeed(driver, true, speed)
	}
	reproduced := bench.SimulateCells(ctx, times, measured, r.seed)
	simulated := bench.SimulateCells(ctx, times, plan.cells, r.seed)
	if done, all := len(reproduced)+len(simulated), len(measured)+len(plan.cells); done < all {
		err = failf(exitFailure, "", "interrupted after %d of %d cells", done, all)
		if done == 0 {
			return err
		}
	}
	for _, result := range slices.Concat(reproduced, simulated) {
		here = append(here, result.TarResult)
	}
	return errors.Join(writeSimulated(stdout, format, reproduced, simulated), r.report(here), err)
}

// writeSimulated writes results of cells that were measured, and of others.
func writeSimulated(stdout io.Writer, format string, reproduced, simulated []bench.SimulatedResult) error {
	switch format {
	case "json":
		return writeJSON(stdout, slices.Concat(reproduced, simulated))
	case "benchfmt":
		return bench.WriteSimulatedBenchfmt(stdout, slices.Concat(reproduced, simulated))
	}
	if len(reproduced) > 0 {
		if err := bench.WriteReproduced(stdout, reproduced); err != nil {
			return err
		}
		if _, err := fmt.Fprint(stdout, "\nWhat this machine cannot run, simulated:\n\n"); err != nil {
			return err
		}
	}
	return bench.WriteSimulated(stdout, simulated)
}

// measuredCells returns the cells of a file of results, and these.
func (r *simulateRequest) measuredCells(plan *simulatePlan) ([]bench.SimulatedCell, []bench.TarResult, error) {
	text, err := os.ReadFile(r.measured)
	if err != nil {
		return nil, nil, err
	}
	var results []bench.TarResult
	if err := json.Unmarshal(text, &results); err != nil {
		return nil, nil, failf(exitFailure, "write it with bench tar --format json", "%s: has no results of bench tar: %w", r.measured, err)
	}
	var files []bench.TreeFile
	if r.tree != "" {
		if files, err = listTree(r.tree); err != nil {
			return nil, nil, err
		}
	}
	var cells []bench.SimulatedCell
	var taken []bench.TarResult
	for i, result := range results {
		if err := checkMeasured(result); err != nil {
			return nil, nil, failf(exitFailure, "write it with bench tar --format json", "%s: result %d: %w", r.measured, i, err)
		}
		if result.Simulated {
			continue
		}
		tree := files
		if r.tree == "" {
			tree = bench.GeneratedTree(result.Bytes)
		}
		if n := bench.TreeSize(tree); n != result.Bytes {
			return nil, nil, failf(exitFailure, "name the tree that was measured", "%s: was measured with %d bytes, and the tree in %s has %d", r.measured, result.Bytes, r.tree, n)
		}
		cell, err := bench.MeasuredCell(result, tree, plan.shapeFor(len(result.CPUs)))
		if err != nil {
			return nil, nil, failf(exitFailure, "", "%s: result %d: %w", r.measured, i, err)
		}
		clear, _ := cpufeat.Parse(strings.Join(result.Cleared, ",")) // was checked
		cell.Cell.NoAES = clearsAES(cpufeat.Host().Clear(clear))
		cells, taken = append(cells, cell), append(taken, result)
	}
	if len(cells) == 0 {
		return nil, nil, failf(exitFailure, "write it with bench tar --format json", "%s: has no results of bench tar", r.measured)
	}
	return cells, taken, nil
}

// Bounds of what was measured, for what the model takes time and memory for.
const (
	maxMeasuredBytes = 64 << 30
	maxMeasuredJobs  = 4096
	maxMeasuredCPUs  = 1024
)

// checkMeasured checks that a result is one of bench tar.
func checkMeasured(r bench.TarResult) error {
	switch {
	case r.Queue == "" || r.Cipher == "" || len(r.Seconds) == 0 || !(r.MedianS > 0):
		return errors.New("is not one of bench tar")
	case r.Jobs < 1 || r.Jobs > maxMeasuredJobs:
		return fmt.Errorf("%d jobs", r.Jobs)
	case r.Bytes < 1 || r.Bytes > maxMeasuredBytes:
		return fmt.Errorf("%d bytes", r.Bytes)
	case len(r.CPUs) < 1 || len(r.CPUs) > maxMeasuredCPUs:
		return fmt.Errorf("%d CPUs", len(r.CPUs))
	case r.Driver != "":
		if _, err := decrypt.LookupName(r.Driver); err != nil {
			return err
		}
	}
	_, err := cpufeat.Parse(strings.Join(r.Cleared, ","))
	return err
}

// serviceTimes returns the service times for the model, measured unless a file has them.
func (r *simulateRequest) serviceTimes(ctx context.Context, measured, all []bench.SimulatedCell, c console) (bench.ServiceTimes, error) {
	var times bench.ServiceTimes
	f, err := openIfThere(r.times)
	if err != nil {
		return times, err
	}
	if f != nil {
		defer f.Close()
		times, err = bench.ReadServiceTimes(f)
		if err != nil {
			return times, pathError(r.times, err)
		}
		return times, measureDrivers(ctx, &times, all, c)
	}
	var out newFile
	if r.times != "" {
		if out, err = prepareFile(r.times, nil); err != nil {
			return times, pathError(r.times, err)
		}
	}
	times = bench.TypicalTimes()
	times.HandOver = workqueue.MeasureHandOver()
	baselines := baselinesOf(measured)
	if len(baselines) == 0 {
		if len(measured) > 0 {
			c.notef("%s has no mount without encryption, so one is measured now; bench tar --cipher null,... has them in the same file", r.measured)
		}
		if baselines, err = measureBaselines(ctx); err != nil {
			return times, err
		}
		if len(baselines) == 0 {
			c.notef("FUSE is not available, so that service times other than those of ciphers are of a typical machine")
		}
	}
	times = bench.FitServiceTimes(times, baselines)
	if err := measureDrivers(ctx, &times, all, c); err != nil || r.times == "" {
		return times, err
	}
	return times, pathError(r.times, out.write(times.Write))
}

func openIfThere(name string) (*os.File, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return f, err
}

// baselinesOf returns the cells that service times can be fitted to.
func baselinesOf(cells []bench.SimulatedCell) []bench.Baseline {
	var baselines []bench.Baseline
	for _, c := range cells {
		if c.Result.Fitted {
			baselines = append(baselines, bench.Baseline{Cell: c.Cell, Seconds: c.Result.MeasuredS})
		}
	}
	return baselines
}

// measureBaselines measures mounts without encryption; none, if there is no FUSE.
func measureBaselines(ctx context.Context) ([]bench.Baseline, error) {
	if checkFUSE(false) != nil {
		return nil, nil
	}
	own, err := ownCPUs()
	if err != nil {
		return nil, err
	}
	plan, err := baselinePlan(own)
	if err != nil {
		return nil, err
	}
	const size = 16 << 20
	results, err := runTarPlan(ctx, tarRequest{size: size >> 10}, plan, newProgress(io.Discard, "none"))
	if ctx.Err() != nil {
		return nil, failf(exitFailure, "", "interrupted")
	}
	if err != nil {
		return nil, err
	}
	var cells []bench.SimulatedCell
	for _, r := range results {
		cell, err := bench.MeasuredCell(r, bench.GeneratedTree(r.Bytes), flatShape(len(r.CPUs)))
		if err != nil {
			return nil, err
		}
		cells = append(cells, cell)
	}
	return baselinesOf(cells), nil
}

// measureDrivers measures those of the drivers in the cells that there are no times of,
// with the CPU's AES instructions and without, as they are in the cells.
func measureDrivers(ctx context.Context, times *bench.ServiceTimes, cells []bench.SimulatedCell, c console) error {
	for _, noAES := range []bool{false, true} {
		drivers, err := unknownDrivers(times, cells, noAES)
		if err != nil {
			return err
		}
		if len(drivers) == 0 {
			continue
		}
		features := cell{cpufeat.Host(), []string{}}
		if noAES {
			features = cell{features.have.Clear(cpufeat.AES), []string{cpufeat.AES.String()}}
		}
		results, err := measureCiphers(ctx, features, drivers, bench.CipherOptions{Runs: 3, Time: 3 * time.Millisecond}, c.err)
		if ctx.Err() != nil {
			return failf(exitFailure, "", "interrupted")
		}
		if err != nil {
			return err
		}
		times.SetMeasured(results, noAES)
	}
	return nil
}

// unknownDrivers returns the drivers in cells with the CPU's AES instructions, or without,
// that there are no times of.
func unknownDrivers(times *bench.ServiceTimes, cells []bench.SimulatedCell, noAES bool) ([]decrypt.Driver, error) {
	var drivers []decrypt.Driver
	for _, c := range cells {
		name := c.Cell.Driver
		if name == "" || c.Cell.NoAES != noAES {
			continue
		}
		if _, known := times.Unit(name, noAES); known {
			continue
		}
		if slices.ContainsFunc(drivers, func(d decrypt.Driver) bool { return d.Name == name }) {
			continue
		}
		d, err := usableDriver(name)
		if err != nil {
			return nil, err
		}
		drivers = append(drivers, d)
	}
	return drivers, nil
}
