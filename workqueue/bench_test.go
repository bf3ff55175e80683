package workqueue

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// BenchmarkQueue measures what a queue costs by itself: submitters queue an item
// that does nothing, or reads of 8, and wait for it. An operation is an item.
func BenchmarkQueue(b *testing.B) {
	for _, a := range policies {
		for _, perRead := range []int{1, 8} {
			for _, submitters := range []int{1, 2, 8, 50} {
				name := fmt.Sprintf("queue=%s/read=%d/submitters=%d", policyName(a), perRead, submitters)
				b.Run(name, func(b *testing.B) { benchmarkQueue(b, a, submitters, perRead) })
			}
		}
	}
}

func benchmarkQueue(b *testing.B, a Attrs, submitters, perRead int) {
	q, err := New(a)
	if err != nil {
		b.Fatal(err)
	}
	defer q.Close()
	b.ReportAllocs()
	start := time.Now()
	var wg sync.WaitGroup
	for range submitters {
		wg.Go(func() {
			var g Group
			works := items(perRead, func(*Work) {})
			for n := b.N / submitters / perRead; n >= 0; n-- {
				for i := range works {
					g.Queue(q, &works[i])
				}
				g.Wait()
			}
		})
	}
	wg.Wait()
	elapsed := time.Since(start)
	b.ReportMetric(float64(b.N)/elapsed.Seconds(), "items/s")
	b.ReportMetric(float64(elapsed.Nanoseconds())*float64(submitters*perRead)/float64(b.N), "ns/read")
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
