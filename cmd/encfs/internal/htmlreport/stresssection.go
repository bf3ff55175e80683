package htmlreport

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"encfs/cmd/encfs/internal/bench"
)

// stressInks are for the sets of features, in their order.
var stressInks = []ink{inkBlue, inkVermillion, inkGreen, inkPurple, inkOrange, inkSky, inkGrey}

// stressSections shows operations in a second: of all algorithms in total, and of each,
// with each set of features that was cleared.
func stressSections(results []bench.StressResult) []section {
	if len(results) == 0 {
		return nil
	}
	s := section{
		Title: "Operations of every algorithm",
		Notes: []string{"Operations in a second of CPU time, on 1024 bytes or of deriving a key: in total what the CPUs do of all of them together, and for each."},
	}
	total := barChart{xLabel: "operations/s"}
	var all []string
	for i, r := range results {
		b := bar{name: featureSet(r), parts: []barPart{{r.OpsPerS, stressInks[i%len(stressInks)]}}, text: number(r.OpsPerS)}
		total.bars = append(total.bars, b)
		all = append(all, b.name+": "+b.text)
	}
	if drawn, ok := total.draw(); ok {
		s.Figures = append(s.Figures, figure{
			Title: "In total", Description: "Operations in a second of all algorithms together. " + strings.Join(all, "; ") + ".",
			Plot: drawn, Legend: stressLegend(results),
		})
	}
	algorithms := stressAlgorithms(results)
	each := barChart{xLabel: "operations/s"}
	all = nil
	for _, a := range algorithms {
		for i, r := range results {
			v, ok := r.ByAlgorithm[a]
			if !ok {
				v = math.NaN()
			}
			b := bar{parts: []barPart{{v, stressInks[i%len(stressInks)]}}, text: number(v)}
			if i == 0 {
				b.name, b.first = a, len(results) > 1
			}
			each.bars = append(each.bars, b)
			all = append(all, a+", "+featureSet(r)+": "+b.text)
		}
	}
	if drawn, ok := each.draw(); ok {
		s.Figures = append(s.Figures, figure{
			Title: "By algorithm", Description: "Operations in a second of each algorithm. " + strings.Join(all, "; ") + ".",
			Plot: drawn, Legend: stressLegend(results),
		})
	}
	s.Tables = []table{stressTable(results, algorithms)}
	return []section{s}
}

func stressTable(results []bench.StressResult, algorithms []string) table {
	t := table{
		Caption: "Operations in a second of CPU time",
		Heads:   []string{"features", "workers", "seconds", "algorithm", "driver", "operations/s", "against the first"},
	}
	first := results[0]
	for _, r := range results {
		of := []tableCell{words(featureSet(r)), digits(strconv.Itoa(r.Workers)), digits(number(r.Seconds))}
		t.add("", false, append(slices.Clone(of), words("in total"), words(""), digits(number(r.OpsPerS)), digits(percent(100*(r.OpsPerS/first.OpsPerS-1))))...)
		for _, a := range algorithms {
			v, ok := r.ByAlgorithm[a]
			if !ok {
				v = math.NaN()
			}
			t.add("", false, append(slices.Clone(of), words(a), words(r.Drivers[a]), digits(number(v)), digits(percent(100*(v/first.ByAlgorithm[a]-1))))...)
		}
	}
	return t
}

// stressAlgorithms returns the algorithms in the order of the first result, or by name
// where that has none, as results from a file.
func stressAlgorithms(results []bench.StressResult) []string {
	if len(results[0].Order) > 0 {
		return results[0].Order
	}
	all := map[string]bool{}
	for _, r := range results {
		for a := range r.ByAlgorithm {
			all[a] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func featureSet(r bench.StressResult) string {
	if len(r.Cleared) == 0 {
		return "all features"
	}
	return "without " + strings.Join(r.Cleared, ",")
}

// stressLegend names the sets of features, where there are several.
func stressLegend(results []bench.StressResult) []legendEntry {
	if len(results) < 2 {
		return nil
	}
	var legend []legendEntry
	for i, r := range results {
		legend = append(legend, legendEntry{barSample(stressInks[i%len(stressInks)]), featureSet(r)})
	}
	return legend
}
