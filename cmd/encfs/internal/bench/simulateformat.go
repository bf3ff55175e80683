package bench

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Tolerance is by how many percent the model may be off in a cell that was measured and
// still be called close.
const Tolerance = 10

// WriteReproduced writes results of cells that were measured beside what was measured, and
// says in how many the model is close.
func WriteReproduced(w io.Writer, results []SimulatedResult) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, "What was measured, and what the model makes of it:")
	verdicts := map[string]int{}
	for _, group := range groupSimulated(results) {
		fmt.Fprintf(b, "\n%s\n", simulatedHeading(group[0]))
		tw := tabwriter.NewWriter(b, 0, 8, 2, ' ', tabwriter.AlignRight)
		fmt.Fprint(tw, "jobs\tqueue\tmeasured\tsimulated\tdifference\t\t\n")
		for _, r := range group {
			verdict := r.Verdict()
			verdicts[verdict]++
			fmt.Fprintf(tw, "%d\t%s\t%.4f s\t%.4f s\t%+.1f %%\t%s\t\n", r.Jobs, queueName(r.TarResult), r.MeasuredS, r.MedianS, r.Difference(), verdict)
		}
		if err := tw.Flush(); err != nil {
			return err
		}
	}
	fitted := verdicts["fitted"]
	fmt.Fprintf(b, "\n%d of %d cells with a cipher are within %d %% of the median, and %d more within the spread of what was measured, in which the true median is with a probability of %.0f %%. To the other %d, which have none, service times were fitted.\n",
		verdicts[verdictClose], len(results)-fitted, Tolerance, verdicts[verdictSpread], 100*Confidence, fitted)
	return b.Flush()
}

// WriteSimulated writes results of cells that were not measured: a table for each machine
// and cipher, with a line for each number of jobs and the speeds of all queues.
func WriteSimulated(w io.Writer, results []SimulatedResult) error {
	b := bufio.NewWriter(w)
	for _, group := range groupSimulated(results) {
		fmt.Fprintf(b, "%s\n", simulatedHeading(group[0]))
		tw := tabwriter.NewWriter(b, 0, 8, 2, ' ', tabwriter.AlignRight)
		var queues []string
		for _, r := range group {
			if q := queueName(r.TarResult); !slices.Contains(queues, q) {
				queues = append(queues, q)
			}
		}
		fmt.Fprint(tw, "jobs\t")
		for _, q := range queues {
			fmt.Fprintf(tw, "%s\t", q)
		}
		fmt.Fprint(tw, "unbound/bound\tauto/best\t\n")
		for _, same := range groupBy(group, func(r SimulatedResult) string { return strconv.Itoa(r.Jobs) }) {
			fmt.Fprintf(tw, "%d\t", same[0].Jobs)
			for _, q := range queues {
				speed := "-"
				for _, r := range same {
					if queueName(r.TarResult) == q {
						speed = fmt.Sprintf("%.0f MB/s", r.MBPerS())
					}
				}
				fmt.Fprintf(tw, "%s\t", speed)
			}
			unbound, auto := simulatedRatios(same)
			fmt.Fprintf(tw, "%s\t%s\t\n", unbound, auto)
		}
		if err := tw.Flush(); err != nil {
			return err
		}
		if claim := group[0].Claim; claim != "" {
			fmt.Fprintf(b, "Linux in 2018, measured by others: unbound/bound %s\n", claim)
		}
		fmt.Fprintln(b)
	}
	return b.Flush()
}

// simulatedRatios returns how fast the first unbound queue is beside the bound one, and
// the first auto queue beside the best of the others.
func simulatedRatios(results []SimulatedResult) (unbound, auto string) {
	var first [4]float64 // speeds: bound, unbound, auto, best of all but auto
	for _, r := range results {
		speed := r.MBPerS()
		for i, queue := range []string{"bound", "unbound", "auto"} {
			if r.Queue == queue && first[i] == 0 {
				first[i] = speed
			}
		}
		if r.Queue != "auto" {
			first[3] = max(first[3], speed)
		}
	}
	ratio := func(a, b float64) string {
		if a == 0 || b == 0 {
			return "-"
		}
		return fmt.Sprintf("%.2f", a/b)
	}
	return ratio(first[1], first[0]), ratio(first[2], first[3])
}

// groupSimulated divides results into those that differ in jobs and queue only.
func groupSimulated(results []SimulatedResult) [][]SimulatedResult {
	return groupBy(results, simulatedHeading)
}

func simulatedHeading(r SimulatedResult) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d CPUs (%s): %s", len(r.CPUs), r.Topology, tarSubject(r.TarResult))
	if len(r.Cleared) > 0 && !IsBaseline(r.TarResult) {
		fmt.Fprintf(&b, ", without %s", strings.Join(r.Cleared, ","))
	}
	if len(r.CompletionCPUs) > 0 {
		fmt.Fprintf(&b, "; ciphertext on CPU %s", joinNumbers(r.CompletionCPUs))
	}
	if r.Cache == "warm" && r.Cipher != NoMount {
		b.WriteString("; warm cache")
	}
	return b.String()
}

// WriteSimulatedBenchfmt writes results in Go's benchmark format.
func WriteSimulatedBenchfmt(w io.Writer, results []SimulatedResult) error {
	return writeBenchfmt(w, results, func(w io.Writer, r *SimulatedResult, sets clearedSets) {
		fmt.Fprintf(w, "Benchmark%s 1 %.0f ns/op %.2f MB/s\n", r.name(sets), r.MedianS*1e9, r.MBPerS())
	})
}
