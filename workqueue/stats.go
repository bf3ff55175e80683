package workqueue

import (
	"slices"
	"sync/atomic"

	"encfs/histogram"
)

// Stats are the counters of a queue since New.
type Stats struct {
	Executed uint64     // items that started, of whichever sort
	Stolen   uint64     // of these, by a worker of another affinity scope
	Inline   uint64     // of these, in the goroutine that queued them, or the caller's part of a Loop
	ByCPU    []CPUStats // one for each CPU of the process, ascending

	// Wait tells how long items of workers waited until they started.
	Wait histogram.Snapshot

	Unpinned   uint64 // workers that the system did not let pin themselves
	NotReniced uint64 // workers that the system did not let set their nice value
}

// CPUStats are the counters of the items that started on one CPU. Where the caller
// of a Loop works is looked at now and then only, and a worker that is pinned to one
// CPU is taken to run there.
type CPUStats struct {
	CPU                      int
	Executed, Stolen, Inline uint64
}

// Stats returns the counters. Items that start meanwhile may be in some of them
// and not in others.
func (q *Queue) Stats() Stats {
	s := Stats{Unpinned: q.unpinned.Load(), NotReniced: q.notReniced.Load()}
	cpus := q.machine.Topology.CPUs()
	for cpu := range q.counters {
		n := &q.counters[cpu]
		c := CPUStats{CPU: cpu, Executed: n.executed.Load(), Stolen: n.stolen.Load(), Inline: n.inline.Load()}
		s.Executed += c.Executed
		s.Stolen += c.Stolen
		s.Inline += c.Inline
		n.wait.AddTo(&s.Wait)
		if _, ok := slices.BinarySearch(cpus, cpu); ok {
			s.ByCPU = append(s.ByCPU, c)
		}
	}
	return s
}

// A counter has the counts of one CPU, in cache lines of its own.
type counter struct {
	executed, stolen, inline atomic.Uint64
	wait                     histogram.Histogram
	_                        [64]byte
}

// counter returns that of a CPU. A CPU that the process did not have when the
// queue was made shares one.
func (q *Queue) counter(cpu int) *counter { return &q.counters[cpu%len(q.counters)] }
