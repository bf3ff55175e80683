package workqueue

import (
	"fmt"
	"sync"
	"testing"
)

// BenchmarkQueue measures what a queue costs by itself, which docs/workqueue.md
// shows: submitters queue an item that does nothing, or 8 at once, and wait for
// them. An operation is an item; the wait is from queueing one until it starts.
func BenchmarkQueue(b *testing.B) {
	for _, a := range benchmarkPolicies() {
		for _, atOnce := range []int{1, 8} {
			for _, submitters := range []int{1, 2, 8, 50} {
				name := fmt.Sprintf("queue=%s/items=%d/submitters=%d", policyName(a), atOnce, submitters)
				b.Run(name, func(b *testing.B) { benchmarkQueue(b, a, submitters, atOnce) })
			}
		}
	}
}

// benchmarkPolicies are those with every scope, strict and not.
func benchmarkPolicies() []Attrs {
	all := []Attrs{{Kind: Bound}, {Kind: Inline}, {Kind: Auto}}
	for _, scope := range []Scope{ScopeCPU, ScopeSMT, ScopeCache, ScopeNUMA, ScopeSystem} {
		for _, strict := range []bool{false, true} {
			all = append(all, Attrs{Kind: Unbound, Scope: scope, Strict: strict})
		}
	}
	return all
}

func benchmarkQueue(b *testing.B, a Attrs, submitters, atOnce int) {
	q, err := New(a)
	if err != nil {
		b.Fatal(err)
	}
	defer q.Close()
	b.ReportAllocs()
	var wg sync.WaitGroup
	for s := range submitters {
		wg.Go(func() {
			var g Group
			works := items(atOnce, func(*Work) {})
			for n := s * atOnce; n < b.N; n += submitters * atOnce {
				for i := range min(atOnce, b.N-n) {
					g.Queue(q, &works[i])
				}
				g.Wait()
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "items/s")
	if wait := q.Stats().Wait; wait.Count() > 0 {
		b.ReportMetric(float64(wait.Quantile(0.5).Nanoseconds()), "ns-wait-p50")
		b.ReportMetric(float64(wait.Quantile(0.99).Nanoseconds()), "ns-wait-p99")
	}
}

// BenchmarkCurrentCPU measures what choosing a pool takes.
func BenchmarkCurrentCPU(b *testing.B) {
	m, err := hostMachine()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		m.CurrentCPU()
	}
}
