package bench

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// WriteTarBenchfmt writes results in Go's benchmark format, a line for each run.
func WriteTarBenchfmt(w io.Writer, results []TarResult) error {
	return writeBenchfmt(w, results, func(w io.Writer, r *TarResult, sets clearedSets) {
		for _, s := range r.Seconds {
			fmt.Fprintf(w, "Benchmark%s 1 %.0f ns/op %.2f MB/s\n", r.name(sets), s*1e9, r.rate(s))
		}
	})
}

func joinNumbers(numbers []int) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

// WriteTarTable writes results for people. Those that differ in the number of jobs and
// the queue only make a table, in the order in which they come; below the queues
// of a number of jobs it has the ratios of their speeds.
func WriteTarTable(w io.Writer, results []TarResult) error {
	b := bufio.NewWriter(w)
	for _, group := range groupBy(results, tarHeading) {
		fmt.Fprintf(b, "%s\n", tarHeading(group[0]))
		tw := tabwriter.NewWriter(b, 0, 8, 2, ' ', tabwriter.AlignRight)
		fmt.Fprint(tw, "jobs\tqueue\tmedian\tspread\tspeed\t\n")
		var ratios []string
		for _, same := range groupBy(group, func(r TarResult) string { return strconv.Itoa(r.Jobs) }) {
			for _, r := range same {
				fmt.Fprintf(tw, "%d\t%s\t%.4f s\t±%.1f %%\t%.0f MB/s\t\n", r.Jobs, queueName(r), r.MedianS, spread(r.Seconds), r.MBPerS())
			}
			ratios = append(ratios, tarRatios(same)...)
		}
		if err := tw.Flush(); err != nil {
			return err
		}
		for _, line := range ratios {
			fmt.Fprintln(b, line)
		}
		fmt.Fprintln(b)
	}
	return b.Flush()
}

// tarSubject says what was read.
func tarSubject(r TarResult) string {
	switch r.Cipher {
	case NoMount:
		return "the lower tree, without a mount"
	case NoCipher:
		return "a mount without encryption"
	}
	return r.Cipher + " by " + r.Driver
}

// tarHeading says what the results of a table have in common.
func tarHeading(r TarResult) string {
	var b strings.Builder
	b.WriteString(tarSubject(r))
	if len(r.Cleared) > 0 {
		fmt.Fprintf(&b, ", without %s", strings.Join(r.Cleared, ","))
	}
	fmt.Fprintf(&b, "; CPUs %s", joinNumbers(r.CPUs))
	if len(r.CompletionCPUs) > 0 {
		fmt.Fprintf(&b, ", ciphertext on %s", joinNumbers(r.CompletionCPUs))
	}
	fmt.Fprintf(&b, "; %s cache", r.Cache)
	if r.Simulated {
		b.WriteString("; simulated")
	}
	return b.String()
}

func queueName(r TarResult) string {
	if r.Scope == "" {
		return r.Queue
	}
	return r.Queue + "/" + r.Scope
}

// tarRatios returns lines with how fast unbound queues are beside the bound one, and
// auto queues beside the best of the others, of results that differ in the queue only.
func tarRatios(results []TarResult) []string {
	var bound, best *TarResult
	for i := range results {
		r := &results[i]
		if r.Queue == "bound" {
			bound = r
		}
		if r.Queue != "auto" && (best == nil || r.MedianS < best.MedianS) {
			best = r
		}
	}
	var lines []string
	for _, r := range results {
		over := bound
		if r.Queue == "auto" {
			over = best
		}
		if over == nil || r.Queue != "unbound" && r.Queue != "auto" {
			continue
		}
		what := queueName(*over)
		if r.Queue == "auto" {
			what = "best (" + what + ")"
		}
		lines = append(lines, fmt.Sprintf("jobs %d: %s is %s × %s", r.Jobs, queueName(r), NewSpeedup(r.Seconds, over.Seconds), what))
	}
	return lines
}

// String returns the value and, where there is one, the interval.
func (s Speedup) String() string {
	if math.IsNaN(s.Low) {
		return fmt.Sprintf("%.3f", s.Value)
	}
	return fmt.Sprintf("%.3f [%.3f, %.3f]", s.Value, s.Low, s.High)
}

// groupBy divides results into those with the same key, in the order of the first of
// each.
func groupBy[T any](results []T, key func(T) string) [][]T {
	var groups [][]T
	index := map[string]int{}
	for _, r := range results {
		k := key(r)
		i, ok := index[k]
		if !ok {
			i = len(groups)
			index[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}
