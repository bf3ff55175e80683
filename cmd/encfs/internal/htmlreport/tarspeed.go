package htmlreport

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"encfs/cmd/encfs/internal/bench"
)

// speedFigure has the speed by the number of jobs for each queue.
func (g tarGroup) speedFigure() (figure, bool) {
	c := lineChart{xLabel: "jobs", yLabel: "MB/s", categories: g.jobNames(), low: 0, high: 0}
	for _, s := range slices.Concat(g.series, g.references) {
		if g.isOffScale(s) {
			continue
		}
		l := line{name: s.name, look: s.look}
		for i, jobs := range g.jobs {
			if r, ok := s.cells[jobs]; ok {
				p := speeds(r)
				p.x = float64(i)
				l.points = append(l.points, p)
			}
		}
		c.lines = append(c.lines, l)
	}
	return c.figure("Speed by jobs", "Speed in MB/s by the number of jobs, with the range of the runs. ")
}

// maxScale is how many times as fast as all mounts the lower tree may be in a plot: more,
// and what is to be compared would be flat beside it.
const maxScale = 2

// isOffScale reports whether a series is the lower tree and too fast for the plot.
func (g tarGroup) isOffScale(s tarSeries) bool {
	if s.cipher != bench.NoMount {
		return false
	}
	mounts := 0.0
	for _, other := range slices.Concat(g.series, g.references) {
		if other.cipher != bench.NoMount {
			mounts = max(mounts, other.fastest())
		}
	}
	return mounts > 0 && s.fastest() > maxScale*mounts
}

// fastest returns the highest speed of the cells in MB/s, 0 of none.
func (s tarSeries) fastest() float64 {
	most := 0.0
	for _, r := range s.cells {
		if y := speeds(r).y; drawable(y) {
			most = max(most, y)
		}
	}
	return most
}

// offScale says in notes what is not in the plot of speeds.
func (g tarGroup) offScale() []string {
	var notes []string
	for _, s := range g.references {
		if g.isOffScale(s) {
			notes = append(notes, "Too fast for the plot: "+s.name+", up to "+number(s.fastest())+" MB/s.")
		}
	}
	return notes
}

// ratioFigure has the ratio of unbound to bound queues by the number of jobs.
func (g tarGroup) ratioFigure() (figure, bool) {
	c := lineChart{xLabel: "jobs", yLabel: "speed, unbound/bound", categories: g.jobNames(), low: 0.9, high: 1.1, even: true}
	for _, s := range g.series {
		if s.queue != "unbound" {
			continue
		}
		l := line{name: s.name + " / bound", look: s.look}
		for i, jobs := range g.jobs {
			if r, ok := g.ratio(s, jobs); ok {
				l.points = append(l.points, point{float64(i), r.Value, r.Low, r.High})
			}
		}
		c.lines = append(c.lines, l)
	}
	return c.figure("Unbound against bound", "Ratio of the speed of unbound queues to that of bound ones by the number of jobs, with the 95 % confidence interval where there are enough runs. Above 1 unbound is faster. ")
}

// ratio returns how much faster an unbound queue is than the bound one with as many
// jobs, and false if there is no such queue.
func (g tarGroup) ratio(unbound tarSeries, jobs int) (bench.Speedup, bool) {
	u, ok := unbound.cells[jobs]
	if !ok {
		return noSpeedup, false
	}
	for _, s := range g.series {
		if b, ok := s.cells[jobs]; ok && s.queue == "bound" && s.simulated == unbound.simulated {
			return speedup(u.Seconds, b.Seconds), true
		}
	}
	return noSpeedup, false
}

// noSpeedup stands for one that cannot be told.
var noSpeedup = bench.Speedup{Value: math.NaN(), Low: math.NaN(), High: math.NaN()}

// speedup returns how many times as fast as b something is that took the times a. There
// is none of no times, nor of times that are none.
func speedup(a, b []float64) bench.Speedup {
	isNone := func(seconds float64) bool { return !(seconds > 0) || math.IsInf(seconds, 0) }
	if len(a) == 0 || len(b) == 0 || slices.ContainsFunc(a, isNone) || slices.ContainsFunc(b, isNone) {
		return noSpeedup
	}
	return bench.NewSpeedup(a, b)
}

// A scopeRatio is a ratio of an unbound queue of a scope.
type scopeRatio struct {
	scope string
	bench.Speedup
}

// ratios returns those of all unbound queues to the bound one.
func (g tarGroup) ratios(simulated bool, jobs int) []scopeRatio {
	var ratios []scopeRatio
	for _, s := range g.series {
		if s.queue != "unbound" || s.simulated != simulated {
			continue
		}
		if r, ok := g.ratio(s, jobs); ok {
			ratios = append(ratios, scopeRatio{s.scope, r})
		}
	}
	return ratios
}

func (g tarGroup) jobNames() []string {
	names := make([]string, len(g.jobs))
	for i, n := range g.jobs {
		names[i] = strconv.Itoa(n)
	}
	return names
}

// figure makes a figure of the chart. Its description goes on with the ends of the lines.
func (l lineChart) figure(title, description string) (figure, bool) {
	drawn, legend, ok := l.draw()
	if !ok {
		return figure{}, false
	}
	var ends []string
	for _, s := range l.lines {
		points := slices.DeleteFunc(slices.Clone(s.points), func(p point) bool { return !drawable(p.y) })
		if len(points) == 0 {
			continue
		}
		first, last := points[0], points[len(points)-1]
		end := s.name + ": " + number(first.y) + " at " + l.position(first.x)
		if len(points) > 1 {
			end += " to " + number(last.y) + " at " + l.position(last.x)
		}
		ends = append(ends, end)
	}
	return figure{Title: title, Description: description + strings.Join(ends, "; ") + ".", Plot: drawn, Legend: legend}, true
}

// position names a place on the x axis.
func (l lineChart) position(x float64) string {
	if i := int(math.Round(x)); l.categories != nil && i >= 0 && i < len(l.categories) {
		return l.categories[i] + " " + l.xLabel
	}
	return number(x)
}
