package htmlreport

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg/draw"

	"encfs/cmd/encfs/internal/bench"
)

// A tarGroup is cells that differ in queue and number of jobs alone, and in whether they
// are simulated.
type tarGroup struct {
	title      string
	of         bench.TarResult // one of them
	series     []tarSeries     // queues
	references []tarSeries     // what decrypts nothing, under the same conditions
	jobs       []int           // all that occur, ascending
}

// A tarSeries is the cells of a queue by their number of jobs.
type tarSeries struct {
	name      string
	cipher    string
	queue     string
	scope     string
	simulated bool
	look      look
	cells     map[int]bench.TarResult
}

// groupTar divides results into groups, in the order in which they first occur. Of
// cells that are the same in everything, the last one counts.
func groupTar(results []bench.TarResult) []tarGroup {
	var groups []tarGroup
	index := map[string]int{}
	for _, r := range results {
		if bench.IsBaseline(r) {
			continue
		}
		title := tarTitle(r)
		if _, ok := index[title]; !ok {
			index[title] = len(groups)
			groups = append(groups, tarGroup{title: title, of: r})
		}
		g := &groups[index[title]]
		g.series = addCell(g.series, r)
	}
	if len(groups) == 0 && len(results) > 0 { // nothing but references
		for _, r := range results {
			title := tarPlace(r)
			if _, ok := index[title]; !ok {
				index[title] = len(groups)
				groups = append(groups, tarGroup{title: "Without decryption, " + title, of: r})
			}
		}
	}
	for i := range groups {
		g := &groups[i]
		for _, r := range results {
			if g.refersTo(r) {
				g.references = addCell(g.references, r)
			}
		}
		g.finish()
	}
	return groups
}

// refersTo reports whether a cell decrypts nothing and is otherwise as those of the group.
// Where no ciphertext is, it does not matter where that arrives, and where no mount is,
// what that has in its cache.
func (g tarGroup) refersTo(r bench.TarResult) bool {
	if !slices.Equal(r.CPUs, g.of.CPUs) {
		return false
	}
	switch r.Cipher {
	case bench.NoMount:
		return true
	case bench.NoCipher:
		return r.Cache == g.of.Cache && slices.Equal(r.CompletionCPUs, g.of.CompletionCPUs)
	}
	return false
}

// addCell adds a cell to the series that it belongs to.
func addCell(series []tarSeries, r bench.TarResult) []tarSeries {
	i := slices.IndexFunc(series, func(s tarSeries) bool {
		return s.cipher == r.Cipher && s.queue == r.Queue && s.scope == r.Scope && s.simulated == r.Simulated
	})
	if i < 0 {
		i = len(series)
		series = append(series, tarSeries{
			cipher: r.Cipher, queue: r.Queue, scope: r.Scope, simulated: r.Simulated, cells: map[int]bench.TarResult{},
		})
	}
	series[i].cells[r.Jobs] = r
	return series
}

// named names each series. Scopes are named where a queue has several.
func named(series []tarSeries) {
	for i := range series {
		s := &series[i]
		s.name = s.queue
		switch s.cipher {
		case bench.NoMount:
			s.name = "lower tree, no mount"
		case bench.NoCipher:
			s.name = "mount without decryption"
			if s.queue != "" && s.queue != bench.NoMount {
				s.name += ", " + s.queue
			}
		}
		several := slices.ContainsFunc(series, func(other tarSeries) bool {
			return other.cipher == s.cipher && other.queue == s.queue && other.scope != s.scope
		})
		if several {
			s.name += ", " + s.scope
		}
		if s.simulated {
			s.name += " (simulated)"
		}
	}
}

// queueLooks are the looks of the queues, of the first scope that occurs.
var queueLooks = map[string]look{
	"bound":   {ink: inkVermillion, shape: draw.CircleGlyph{}},
	"unbound": {ink: inkBlue, shape: draw.BoxGlyph{}},
	"inline":  {ink: inkGreen, shape: draw.PyramidGlyph{}},
	"auto":    {ink: inkPurple, shape: draw.RingGlyph{}},
}

// referenceLooks are the looks of what decrypts nothing.
var referenceLooks = []look{
	{ink: inkGrey, shape: draw.CrossGlyph{}},
	{ink: inkOrange, shape: draw.PlusGlyph{}},
	{ink: inkText, shape: draw.SquareGlyph{}},
}

// finish notes the numbers of jobs and gives each series its name and its look. A simulated series
// looks as the measured one of the same queue, with dashes.
func (g *tarGroup) finish() {
	named(g.series)
	named(g.references)
	type queue struct{ queue, scope string }
	looks := map[queue]look{}
	taken := map[string]bool{}
	for i := range g.series {
		s := &g.series[i]
		q := queue{s.queue, s.scope}
		if _, ok := looks[q]; !ok {
			l, known := queueLooks[s.queue]
			if !known || taken[s.queue] {
				l = spareLooks[len(looks)%len(spareLooks)]
			}
			taken[s.queue] = true
			looks[q] = l
		}
		s.look = looks[q]
		s.look.dashed = s.simulated
	}
	for i := range g.references {
		s := &g.references[i]
		s.look = referenceLooks[i%len(referenceLooks)]
		s.look.dashed = s.simulated
	}
	jobs := map[int]bool{}
	for _, s := range slices.Concat(g.series, g.references) {
		for n := range s.cells {
			if !jobs[n] {
				jobs[n] = true
				g.jobs = append(g.jobs, n)
			}
		}
	}
	slices.Sort(g.jobs)
}

// tarTitle says what the cells of a group have in common.
func tarTitle(r bench.TarResult) string {
	title := r.Cipher
	if r.Driver != "" {
		title += " (" + r.Driver + ")"
	}
	title += ", " + tarPlace(r)
	if len(r.Cleared) > 0 {
		title += ", without " + strings.Join(r.Cleared, ",")
	}
	return title
}

// tarPlace says where and with what cache tars ran.
func tarPlace(r bench.TarResult) string {
	place := r.Cache + " cache, CPUs " + cpuList(r.CPUs)
	if len(r.CompletionCPUs) > 0 {
		place += ", ciphertext arriving on CPU " + cpuList(r.CompletionCPUs)
	}
	return place
}

// speeds returns MB/s, 10^6 bytes in a second: the median, and the range of the runs.
func speeds(r bench.TarResult) point {
	bytes := float64(r.Bytes) / 1e6
	p := at(float64(r.Jobs), bytes/r.MedianS)
	if len(r.Seconds) > 1 {
		p.low, p.high = bytes/slices.Max(r.Seconds), bytes/slices.Min(r.Seconds)
	}
	return p
}

// find returns the cell of a queue.
func (g tarGroup) find(queue, scope string, simulated bool, jobs int) (bench.TarResult, bool) {
	for _, s := range g.series {
		if s.queue == queue && s.scope == scope && s.simulated == simulated {
			r, ok := s.cells[jobs]
			return r, ok
		}
	}
	return bench.TarResult{}, false
}

// best returns the queue with the least median, but for auto, and false if there is none.
func (g tarGroup) best(simulated bool, jobs int) (name string, best bench.TarResult, ok bool) {
	least := math.Inf(1)
	for _, s := range g.series {
		r, there := s.cells[jobs]
		if s.simulated == simulated && s.queue != "auto" && there && r.MedianS > 0 && r.MedianS < least {
			name, best, ok, least = s.name, r, true, r.MedianS
		}
	}
	return name, best, ok
}
