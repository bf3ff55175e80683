package htmlreport

import (
	"slices"
	"strconv"
	"strings"

	"encfs/cmd/encfs/internal/bench"
)

// timeNames are the parts of the time of a READ request, as timeParts returns them.
var timeNames = [...]string{"lower read", "queue wait", "decrypt", "reply"}

var timeInks = [len(timeNames)]ink{inkSky, inkVermillion, inkBlue, inkGrey}

// timeParts returns parts that add up to the whole: the wait is none of decryption's. Of
// work items that wait while others are decrypted it has what fits into that time.
func timeParts(t bench.ReadTime) [len(timeNames)]float64 {
	wait := min(t.QueueWait, t.Decrypt)
	return [...]float64{t.LowerRead, wait, t.Decrypt - wait, t.Reply}
}

// timeFigure has where the time of a READ request goes, a bar for each queue and number
// of jobs.
func (g tarGroup) timeFigure() (figure, bool) {
	c := barChart{xLabel: "µs of a READ request, mean"}
	var all []string
	for _, jobs := range g.jobs {
		first := true
		for _, s := range g.series {
			r, ok := s.cells[jobs]
			if !ok {
				continue
			}
			parts, total := timeParts(r.Time), 0.0
			b := bar{name: strconv.Itoa(jobs) + "× " + s.name, dashed: s.simulated, first: first}
			for i, v := range parts {
				total += v
				b.parts = append(b.parts, barPart{v, timeInks[i]})
			}
			if total == 0 {
				continue
			}
			b.text, first = number(total), false
			c.bars = append(c.bars, b)
			all = append(all, b.name+": "+b.text)
		}
	}
	drawn, ok := c.draw()
	if !ok {
		return figure{}, false
	}
	f := figure{
		Title:       "Where the time of a read goes",
		Description: "Mean time of a READ request in microseconds, by jobs and queue, as bars made of " + strings.Join(timeNames[:], ", ") + "; decryption without the wait in the queue. In all, " + strings.Join(all, "; ") + ".",
		Plot:        drawn,
	}
	for i, name := range timeNames {
		f.Legend = append(f.Legend, legendEntry{barSample(timeInks[i]), name})
	}
	if slices.ContainsFunc(c.bars, func(b bar) bool { return b.dashed }) {
		f.Legend = append(f.Legend, legendEntry{dashedSample(), "simulated"})
	}
	return f, true
}
