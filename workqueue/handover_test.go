package workqueue

import (
	"testing"
	"time"
)

func TestMeasureHandOver(t *testing.T) {
	if got := MeasureHandOver(); got < minHandOver || got > maxHandOver {
		t.Errorf("MeasureHandOver = %v, want within %v to %v", got, minHandOver, maxHandOver)
	}
}

// BenchmarkHandOver measures how long an item waits for a worker that sleeps, and
// how long queueing it takes the caller, who goes on working.
func BenchmarkHandOver(b *testing.B) {
	q, err := New(Attrs{Kind: Auto})
	if err != nil {
		b.Fatal(err)
	}
	defer q.Close()
	w := items(1, func(*Work) {})
	var queueing time.Duration
	for b.Loop() {
		for start := time.Now(); time.Since(start) < handOverPause; {
		}
		start := time.Now()
		q.Queue(&w[0])
		leaveNext()
		queueing += time.Since(start)
		for w[0].state.Load() != idle {
		}
		w[0].Wait()
	}
	s := q.Stats()
	b.ReportMetric(float64(queueing.Nanoseconds())/float64(b.N), "ns/queueing")
	b.ReportMetric(float64(s.Wait.Quantile(0.5).Nanoseconds()), "ns/wait-p50")
	b.ReportMetric(float64(s.Wait.Quantile(0.95).Nanoseconds()), "ns/wait-p95")
	b.ReportMetric(float64(MeasureHandOver().Nanoseconds()), "ns/measured")
}
