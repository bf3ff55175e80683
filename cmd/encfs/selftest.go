package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"encfs/cpufeat"
	"encfs/decrypt"
	"encfs/keys"
)

func newSelftestCommand() *cobra.Command {
	var clear string
	var full, asJSON bool
	cmd := &cobra.Command{
		Use:   "selftest [flags]",
		Short: "Run the self-tests of ciphers and key derivations",
		Long: `Run the self-tests of all drivers that this CPU can run, and of the key derivations,
and print a line with the time of each. A driver encrypts and decrypts data whose
ciphertext is known.

The exit code is 26 if a test fails, and 20 if that leaves nothing to do a driver's
work.`,
		Args: argsOfUse,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cleared, err := cpufeat.Parse(clear)
			if err != nil {
				return usagef("--clear-cpu: %w", err)
			}
			results := runSelfTests(decrypt.Drivers(), keys.KnownAnswerTests(), cpufeat.Host().Clear(cleared), full)
			if slices.ContainsFunc(results, func(r selfTestResult) bool { return errors.Is(r.err, decrypt.ErrNoSelfTests) }) {
				return fmt.Errorf("this program: %w", decrypt.ErrNoSelfTests)
			}
			print := printSelfTests
			if asJSON {
				print = func(w io.Writer, r []selfTestResult) error { return writeJSON(w, r) }
			}
			return errors.Join(print(cmd.OutOrStdout(), results), judgeSelfTests(results))
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&full, "full", false, "test with more data, which takes seconds")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	flags.StringVar(&clear, "clear-cpu", "", "do without the CPU features in `LIST`, such as aes,avx2")
	return cmd
}

// selfTestResult is what selftest shows of one test, in the form of its JSON.
type selfTestResult struct {
	Algorithm    string  `json:"algorithm"`
	Driver       string  `json:"driver"`
	Result       string  `json:"result"` // as in drivers
	Microseconds float64 `json:"microseconds"`
	Why          string  `json:"why"` // it failed, or was not run

	err error
}

// runSelfTests runs the tests of all drivers that can run with the features in have,
// and of the key derivations.
func runSelfTests(drivers []decrypt.Driver, kdfs []keys.KnownAnswerTest, have cpufeat.Set, full bool) []selfTestResult {
	cpu := cpufeat.Detect()
	var results []selfTestResult
	for _, d := range drivers {
		if !have.Has(d.Needs) {
			results = append(results, selfTestResult{
				Algorithm: d.Algorithm, Driver: d.Name,
				Result: decrypt.NotRun.String(), Why: cpu.Explain(d.Needs, have),
			})
			continue
		}
		results = append(results, runSelfTest(d.Algorithm, d.Name, func() error { return d.SelfTest(full) }))
	}
	for _, k := range kdfs {
		results = append(results, runSelfTest(k.Name, "-", k.Run))
	}
	return results
}

func runSelfTest(algorithm, driver string, test func() error) selfTestResult {
	start := time.Now()
	err := test()
	r := selfTestResult{Algorithm: algorithm, Driver: driver, Result: decrypt.Passed.String(), err: err}
	r.Microseconds = float64(time.Since(start).Nanoseconds()) / 1e3
	if err != nil {
		r.Result, r.Why = decrypt.Failed.String(), err.Error()
	}
	return r
}

func printSelfTests(w io.Writer, results []selfTestResult) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	total := 0.0
	for _, r := range results {
		took := "-"
		if r.Result != decrypt.NotRun.String() {
			took = fmt.Sprintf("%.1f µs", r.Microseconds)
		}
		total += r.Microseconds
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s", r.Algorithm, r.Driver, r.Result, took)
		if r.Why != "" {
			fmt.Fprintf(tw, "\t%s", printable(r.Why))
		}
		fmt.Fprintln(tw)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%.2f ms in all\n", total/1e3)
	return err
}

// judgeSelfTests returns the error that failures amount to.
func judgeSelfTests(results []selfTestResult) error {
	failed := 0
	left := map[string]bool{} // whether something can do the work
	for _, r := range results {
		if r.Result == decrypt.NotRun.String() {
			continue
		}
		if r.err != nil {
			failed++
		}
		left[r.Algorithm] = left[r.Algorithm] || r.err == nil
	}
	for _, r := range results {
		if able, tested := left[r.Algorithm]; tested && !able {
			return failf(exitSelfTest, "", "%d of %d self-tests failed, and nothing is left for %s", failed, len(results), r.Algorithm)
		}
	}
	if failed > 0 {
		return failf(exitProblems, "", "%d of %d self-tests failed", failed, len(results))
	}
	return nil
}
