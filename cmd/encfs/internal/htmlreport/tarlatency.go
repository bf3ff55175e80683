package htmlreport

import (
	"encfs/cmd/encfs/internal/bench"
)

// latencies returns the distribution of the time of READ requests, a figure for each
// number of jobs.
func (g tarGroup) latencies() []figure {
	var figures []figure
	for i, jobs := range g.jobs {
		c := lineChart{xLabel: "µs", yLabel: "% of READ requests", low: 0, high: 100}
		for _, s := range g.series {
			if r, ok := s.cells[jobs]; ok {
				points, marks := cumulative(r.Latency.Dist)
				c.lines = append(c.lines, line{s.name, s.look, points, marks})
			}
		}
		title := "Time of READ requests, jobs: " + g.jobNames()[i]
		if f, ok := c.figure(title, "Percentage of READ requests that took so many microseconds or less, on a logarithmic axis, with marks at 50, 95 and 99 %. "); ok {
			figures = append(figures, f)
		}
	}
	return figures
}

// marked are the percentages at which distributions have marks.
var marked = []float64{50, 95, 99}

// cumulative returns the steps of a distribution in percent, and the places of marks.
// There are none of a distribution of nothing.
func cumulative(dist []bench.LatencyBucket) (steps, marks []point) {
	total := uint64(0)
	for _, b := range dist {
		total += b.Count
	}
	if total == 0 {
		return nil, nil
	}
	marks = []point{} // rather than nil, which is everywhere
	below := uint64(0)
	for _, b := range dist {
		if b.Count == 0 {
			continue
		}
		before := 100 * float64(below) / float64(total)
		below += b.Count
		after := 100 * float64(below) / float64(total)
		steps = append(steps, at(b.Us, before), at(b.Us, after))
		for _, m := range marked {
			if before < m && m <= after {
				marks = append(marks, at(b.Us, m))
			}
		}
	}
	return steps, marks
}
