package bench

import (
	"bufio"
	"fmt"
	"io"
	"runtime"
	"strings"
	"text/tabwriter"
)

// WriteCipherTable writes results for people: a line for each driver, with MB/s in both
// directions for each size of data units.
func WriteCipherTable(w io.Writer, results []CipherResult) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "driver\t")
	for _, size := range UnitSizes {
		fmt.Fprintf(tw, "encrypt %s\tdecrypt %s\t", sizeName(size), sizeName(size))
	}
	fmt.Fprint(tw, "self-test\tcleared\t\n")
	perDriver := 2 * len(UnitSizes)
	for ; len(results) >= perDriver; results = results[perDriver:] {
		fmt.Fprintf(tw, "%s\t", results[0].Driver)
		for _, r := range results[:perDriver] {
			fmt.Fprintf(tw, "%.0f MB/s\t", r.MBPerS)
		}
		cleared := "-"
		if len(results[0].Cleared) > 0 {
			cleared = strings.Join(results[0].Cleared, ",")
		}
		fmt.Fprintf(tw, "%.0f µs\t%s\t\n", results[0].SelfTest, cleared)
	}
	return tw.Flush()
}

func sizeName(n int) string {
	if n%1024 == 0 {
		return fmt.Sprintf("%d KiB", n/1024)
	}
	return fmt.Sprintf("%d B", n)
}

// WriteCipherBenchfmt writes results in Go's benchmark format, a line for each run.
func WriteCipherBenchfmt(w io.Writer, results []CipherResult) error {
	return writeBenchfmt(w, results, func(w io.Writer, r *CipherResult, sets clearedSets) {
		for _, speed := range r.Runs {
			ns := float64(r.UnitBytes) / (speed * 1e6) * 1e9
			fmt.Fprintf(w, "Benchmark%s 1 %.1f ns/op %.2f MB/s\n", r.name(sets), ns, speed)
		}
	})
}

// writeBenchfmt writes results in Go's benchmark format, with lines that a function
// writes for each.
func writeBenchfmt[T any, R interface {
	*T
	addCleared(clearedSets)
}](w io.Writer, results []T, lines func(w io.Writer, r R, sets clearedSets)) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "goos: %s\ngoarch: %s\npkg: encfs\n", runtime.GOOS, runtime.GOARCH)
	sets := clearedSets{}
	for i := range results {
		R(&results[i]).addCleared(sets)
	}
	for i := range results {
		lines(b, &results[i], sets)
	}
	return b.Flush()
}

// WriteStressTable writes a result for people: operations per second in total and of
// each algorithm.
func WriteStressTable(w io.Writer, r StressResult) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	what := ""
	if len(r.Cleared) > 0 {
		what = ", without " + strings.Join(r.Cleared, ",")
	}
	fmt.Fprintf(tw, "%.0f ops/s\tin total, %d workers for %.1f s%s\n", r.OpsPerS, r.Workers, r.Seconds, what)
	for _, name := range r.Order {
		fmt.Fprintf(tw, "%.0f ops/s\t%s", r.ByAlgorithm[name], name)
		if driver := r.Drivers[name]; driver != "" { // hashes have none
			fmt.Fprintf(tw, "\t%s", driver)
		}
		fmt.Fprintln(tw)
	}
	return tw.Flush()
}

// WriteStressBenchfmt writes results in Go's benchmark format.
func WriteStressBenchfmt(w io.Writer, results []StressResult) error {
	return writeBenchfmt(w, results, func(w io.Writer, r *StressResult, sets clearedSets) {
		fmt.Fprintf(w, "Benchmark%s 1 %.1f ops/s\n", r.name(stressTotal, sets), r.OpsPerS)
		for _, algorithm := range r.Order {
			fmt.Fprintf(w, "Benchmark%s 1 %.1f ops/s\n", r.name(algorithm, sets), r.ByAlgorithm[algorithm])
		}
	})
}
