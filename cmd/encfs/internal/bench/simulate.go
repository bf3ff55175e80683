package bench

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"encfs/workqueue"
	"encfs/workqueue/simulate"
)

// A SimulatedResult is a cell of the experiment in the model, and beside it what was
// measured, where that was.
type SimulatedResult struct {
	TarResult
	Topology string `json:"topology"` // as simulate.Shape writes it

	MeasuredS float64 `json:"measured_median_s,omitempty"` // 0 if the cell was not measured
	Fitted    bool    `json:"fitted"`                      // service times were fitted to that

	// MeasuredInterval has the true median in it with a probability of Confidence, as far as
	// the runs tell; nil of fewer than six runs.
	MeasuredInterval []float64 `json:"measured_interval_s,omitempty"`

	Claim string `json:"claim_2018,omitempty"` // how unbound compared with bound in Linux then
}

// Difference returns by how many percent the model takes longer than was measured, NaN of
// what was not.
func (r *SimulatedResult) Difference() float64 {
	if r.MeasuredS == 0 {
		return math.NaN()
	}
	return 100 * (r.MedianS/r.MeasuredS - 1)
}

// Verdict says in words how close the model is to what was measured: within Tolerance of
// the median, or so close that the spread of the runs does not tell it from the truth.
func (r *SimulatedResult) Verdict() string {
	i := r.MeasuredInterval
	switch {
	case r.Fitted:
		return "fitted"
	case math.Abs(r.Difference()) <= Tolerance:
		return verdictClose
	case i != nil && i[0] <= r.MedianS && r.MedianS <= i[1]:
		return verdictSpread
	}
	return "off"
}

const (
	verdictClose  = "within 10 %" // which is Tolerance
	verdictSpread = "within the spread"
)

// A SimulatedCell is a cell to run in the model: what it is called, and what it is.
type SimulatedCell struct {
	Result SimulatedResult // with all but times
	Cell   TarCell
}

// MeasuredCell returns the cell of the model for one that was measured with the tree of
// files. The CPUs of the machine are one cache and numbered anew, unless shape, which is
// for as many of them, says otherwise.
func MeasuredCell(r TarResult, files []TreeFile, shape simulate.Shape) (SimulatedCell, error) {
	c := SimulatedCell{
		Result: SimulatedResult{TarResult: r, Topology: shape.String(), MeasuredS: r.MedianS, Fitted: IsBaseline(r)},
		Cell: TarCell{
			Shape: shape, Mounted: r.Cipher != NoMount, Warm: r.Cache == "warm",
			Driver: r.Driver, Parts: Divide(files, r.Jobs),
		},
	}
	if low, high := medianInterval(r.Seconds); low <= high {
		c.Result.MeasuredInterval = []float64{low, high}
	}
	t := &c.Result.TarResult
	t.Simulated, t.Seconds, t.MedianS, t.Time, t.Latency = true, nil, 0, ReadTime{}, Latency{}
	for _, cpu := range r.CompletionCPUs {
		i := slices.Index(r.CPUs, cpu)
		if i < 0 {
			return c, fmt.Errorf("bench: ciphertext on CPU %d, which is none of those used", cpu)
		}
		c.Cell.Completion = append(c.Cell.Completion, i)
	}
	if !c.Cell.Mounted {
		c.Cell.Queue.Kind = workqueue.Inline
		return c, nil
	}
	var err error
	if c.Cell.Queue.Kind, err = workqueue.ParseKind(r.Queue); err == nil && r.Scope != "" {
		c.Cell.Queue.Scope, err = workqueue.ParseScope(r.Scope)
	}
	return c, err
}

// SimulateCells runs cells in the model, several at a time, and returns their results in
// their order. They depend on nothing but the arguments. Once ctx is done it begins no
// further cell, and there are fewer results: of the first cells.
func SimulateCells(ctx context.Context, t ServiceTimes, cells []SimulatedCell, seed uint64) []SimulatedResult {
	results := make([]SimulatedResult, len(cells))
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				took, parts := t.Simulate(cells[i].Cell, seed)
				results[i] = cells[i].Result
				results[i].Add(took.Seconds(), parts)
			}
		})
	}
	begun := 0
	for begun < len(cells) && ctx.Err() == nil {
		next <- begun
		begun++
	}
	close(next)
	wg.Wait()
	return results[:begun]
}

// ModelTree returns files for a model of a machine with so many CPUs: as many copies of a
// generated tree of 32 MiB as it takes for each CPU to have a large file.
func ModelTree(cpus int) []TreeFile {
	var files []TreeFile
	for n := range max(1, (cpus+largeFiles-1)/largeFiles) {
		for _, f := range generatedTree(32 << 20) {
			files = append(files, TreeFile{fmt.Sprintf("copy%d/%s", n, f.Path), f.Size})
		}
	}
	return files
}

// GeneratedTree returns the files of the tree that GenerateTree writes.
func GeneratedTree(size int64) []TreeFile { return generatedTree(size) }
