package htmlreport

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"encfs/cmd/encfs/internal/bench"
)

// tarSections shows tars through mounts: what unbound and auto queues gain, a section
// for each group, and all cells.
func tarSections(results []bench.TarResult) []section {
	if len(results) == 0 {
		return nil
	}
	groups := groupTar(results)
	var notes []string
	notes = append(notes, "Trees read by tars through a mount for each number of jobs, which are tars at a time. MB/s are 10⁶ bytes of plain contents in a second, of the median run.")
	if slices.ContainsFunc(results, func(r bench.TarResult) bool { return r.Simulated }) {
		notes = append(notes, "What is simulated was computed by a model from service times and not measured: its lines and the outlines of its bars are dashed, its rows are in italics, and all of it says “simulated”.")
	}
	var sections []section
	summary := section{Title: "Queues compared", Notes: notes}
	for _, t := range []table{gainTable(groups), modelTable(groups)} {
		if len(t.Rows) > 0 {
			summary.Tables = append(summary.Tables, t)
		}
	}
	sections = append(sections, summary)
	for _, g := range groups {
		s := section{Title: g.title, Notes: g.offScale(), Figures: g.figures(), More: g.latencies()}
		if n := len(s.More); n > 0 { // that of the most jobs is the one to see first
			s.Figures, s.More = append(s.Figures, s.More[n-1]), s.More[:n-1]
		}
		sections = append(sections, s)
	}
	return append(sections, section{Title: "All cells", Tables: []table{cellTable(results), readTable(results)}})
}

// figures returns the plots of speed, of ratios, and of where the time goes.
func (g tarGroup) figures() []figure {
	var figures []figure
	for _, make := range []func() (figure, bool){g.speedFigure, g.ratioFigure, g.timeFigure} {
		if f, ok := make(); ok {
			figures = append(figures, f)
		}
	}
	return figures
}

// gainTable compares the speed of queues with the same number of jobs.
func gainTable(groups []tarGroup) table {
	t := table{
		Caption: "Speed of unbound and auto queues; intervals are of 95 %",
		Heads:   []string{"jobs", "", "unbound/bound", "interval", "best but auto", "auto/best", "interval"},
	}
	for _, g := range groups {
		for _, simulated := range []bool{false, true} {
			for _, jobs := range g.jobs {
				best, bestCell, ok := g.best(simulated, jobs)
				if !ok {
					continue
				}
				auto := noSpeedup
				for _, s := range g.series {
					if r, there := s.cells[jobs]; there && s.queue == "auto" && s.simulated == simulated {
						auto = speedup(r.Seconds, bestCell.Seconds)
						break
					}
				}
				unbound := g.ratios(simulated, jobs)
				if len(unbound) == 0 {
					unbound = []scopeRatio{{"", noSpeedup}}
				}
				for _, u := range unbound {
					t.add(g.title, simulated, digits(strconv.Itoa(jobs)), words(origin(simulated, u.scope)),
						digits(number(u.Value)), digits(interval(u.Speedup)),
						words(best), digits(number(auto.Value)), digits(interval(auto)))
				}
			}
		}
	}
	return t
}

// origin says where numbers are from, and of which scope.
func origin(simulated bool, scope string) string {
	parts := []string{"measured"}
	if simulated {
		parts[0] = "simulated"
	}
	if scope != "" {
		parts = append(parts, "scope "+scope)
	}
	return strings.Join(parts, ", ")
}

func interval(r bench.Speedup) string {
	if math.IsNaN(r.Low) {
		return missing
	}
	return number(r.Low) + " … " + number(r.High)
}

// modelTable puts what the model says beside what was measured.
func modelTable(groups []tarGroup) table {
	t := table{
		Caption: "The model against measurements",
		Heads:   []string{"queue", "jobs", "measured MB/s", "simulated MB/s", "difference"},
	}
	for _, g := range groups {
		for _, s := range g.series {
			if s.simulated {
				continue
			}
			for _, jobs := range g.jobs {
				measured, ok := s.cells[jobs]
				model, modelled := g.find(s.queue, s.scope, true, jobs)
				if !ok || !modelled {
					continue
				}
				is, says := speeds(measured).y, speeds(model).y
				t.add(g.title, false, words(s.name), digits(strconv.Itoa(jobs)),
					digits(number(is)), digits(number(says)), digits(percent(100*(says-is)/is)))
			}
		}
	}
	return t
}

// tarHeads are the headings of what tells cells apart.
var tarHeads = []string{"", "cipher", "driver", "without", "queue", "scope", "jobs", "CPUs", "ciphertext on", "cache"}

func tarCells(r bench.TarResult) []tableCell {
	return []tableCell{
		words(origin(r.Simulated, "")), words(r.Cipher), words(r.Driver), words(strings.Join(r.Cleared, ",")), words(r.Queue), words(r.Scope),
		digits(strconv.Itoa(r.Jobs)), words(cpuList(r.CPUs)), words(cpuList(r.CompletionCPUs)), words(r.Cache),
	}
}

// cellTable has all results with their runs.
func cellTable(results []bench.TarResult) table {
	t := table{
		Caption: "Times",
		Heads:   append(slices.Clone(tarHeads), "MB", "runs", "median s", "least s", "most s", "MB/s"),
	}
	for _, r := range results {
		least, most := math.NaN(), math.NaN()
		if len(r.Seconds) > 0 {
			least, most = slices.Min(r.Seconds), slices.Max(r.Seconds)
		}
		t.add("", r.Simulated, append(tarCells(r),
			digits(number(float64(r.Bytes)/1e6)), digits(strconv.Itoa(len(r.Seconds))),
			digits(number(r.MedianS)), digits(number(least)), digits(number(most)), digits(number(speeds(r).y)))...)
	}
	return t
}

// readTable has where the time of READ requests went.
func readTable(results []bench.TarResult) table {
	t := table{
		Caption: "READ requests: means of the parts and percentiles of the whole, in µs",
		Heads:   append(slices.Clone(tarHeads), "lower read", "queue wait", "decrypt with wait", "reply", "p50", "p95", "p99", "counted"),
	}
	for _, r := range results {
		cells := tarCells(r)
		for _, part := range []float64{r.Time.LowerRead, r.Time.QueueWait, r.Time.Decrypt, r.Time.Reply} {
			cells = append(cells, digits(number(part)))
		}
		requests := uint64(0)
		for _, b := range r.Latency.Dist {
			requests += b.Count
		}
		t.add("", r.Simulated, append(cells, digits(number(r.Latency.P50)), digits(number(r.Latency.P95)), digits(number(r.Latency.P99)), digits(fmt.Sprint(requests)))...)
	}
	return t
}
