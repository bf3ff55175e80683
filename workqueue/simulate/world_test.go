package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"encfs/workqueue"
)

const us = time.Microsecond

// costly are Costs in which everything takes some time.
var costly = Costs{
	Wake: 20 * us, Waker: 5 * us, Switch: 2 * us, SwitchGoroutine: 300, SwitchPinned: 6 * us,
	Migrate: [5]time.Duration{0, us, 2 * us, 4 * us, 8 * us},
	Slice:   700 * us, Sibling: 0.6, Contention: 0.2,
}

func mustShape(t testing.TB, text string) workqueue.Topology {
	t.Helper()
	s, err := ParseShape(text)
	if err != nil {
		t.Fatal(err)
	}
	return s.Topology()
}

func TestParseShape(t *testing.T) {
	for _, tt := range []struct {
		text string
		want string // what is in the error, if it is no shape
		cpus int
	}{
		{"1x1", "", 1},
		{"8x8", "", 64},
		{"16x8,smt=2,numa=2", "", 128},
		{"16x8,numa=2", "", 128},
		{"128x8", "", 1024},
		{"", "come first", 0},
		{"8", "come first", 0},
		{"8x", "come first", 0},
		{"0x8", "come first", 0},
		{"8x-1", "come first", 0},
		{"smt=2", "come first", 0},
		{"8x8,smt", "neither smt=N nor numa=N", 0},
		{"8x8,smt=0", "neither smt=N nor numa=N", 0},
		{"8x8,cores=2", "neither smt=N nor numa=N", 0},
		{"2x3,smt=2", "whole cores", 0},
		{"3x2,numa=2", "for each memory node", 0},
		{"129x8", "more than 1024 CPUs", 0},
		{"65535x65535", "more than 1024 CPUs", 0},
	} {
		t.Run(tt.text, func(t *testing.T) {
			s, err := ParseShape(tt.text)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Fatalf("ParseShape(%q) = %v, %v, want an error with %q", tt.text, s, err, tt.want)
				}
				return
			}
			if err != nil || s.String() != tt.text || len(s.Topology()) != tt.cpus {
				t.Errorf("ParseShape(%q) = %v with %d CPUs, %v, want %d", tt.text, s, len(s.Topology()), err, tt.cpus)
			}
		})
	}
}

func TestShapeTopology(t *testing.T) {
	topology := mustShape(t, "4x4,smt=2,numa=2")
	for _, tt := range []struct{ a, b, want int }{{0, 0, 0}, {0, 1, 1}, {1, 2, 2}, {3, 4, 3}, {7, 8, 4}, {15, 0, 4}} {
		if got := topology.Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("CPU %d is at %d from CPU %d, want %d", tt.a, got, tt.b, tt.want)
		}
	}
}

// On one CPU the work of all threads takes as long as the sum, however they share it.
func TestOneCPU(t *testing.T) {
	for _, slice := range []time.Duration{0, 7 * us, time.Second} {
		w := New(mustShape(t, "1x1"), Costs{Slice: slice})
		total := time.Duration(0)
		for i := range 20 {
			d := time.Duration(i*i) * us
			total += d
			w.StartThread(func(t *Thread) {
				for range 10 {
					t.Use(d / 10)
				}
			})
		}
		w.Run()
		if w.Now() != total {
			t.Errorf("slice %v: took %v, want %v", slice, w.Now(), total)
		}
	}
}

// What is parallel takes as long as one part, up to as many threads as CPUs.
func TestSpeedUp(t *testing.T) {
	for _, tt := range []struct {
		shape   string
		threads int
		want    time.Duration
	}{
		{"1x4", 1, 1000 * us}, {"1x4", 4, 1000 * us}, {"1x4", 8, 2000 * us}, {"1x4", 6, 1500 * us},
		{"8x8", 64, 1000 * us}, {"16x8,numa=2", 128, 1000 * us},
	} {
		w := New(mustShape(t, tt.shape), Costs{Slice: us})
		for range tt.threads {
			w.StartThread(func(t *Thread) { t.Use(1000 * us) })
		}
		w.Run()
		if got := w.Now(); got < tt.want || got > tt.want+2*us {
			t.Errorf("%d threads on %s: took %v, want %v", tt.threads, tt.shape, got, tt.want)
		}
	}
}

// Threads of a core slow each other down, for as long as both run.
func TestSibling(t *testing.T) {
	w := New(mustShape(t, "1x2,smt=2"), Costs{Sibling: 0.5})
	var ends []time.Duration
	for _, d := range []time.Duration{100 * us, 300 * us} {
		w.StartThread(func(t *Thread) {
			t.Use(d)
			ends = append(ends, w.Now())
		})
	}
	w.Run()
	// The first at half the speed; the second has 100 of its 300 by then.
	if want := []time.Duration{200 * us, 400 * us}; !slices.Equal(ends, want) {
		t.Errorf("ended at %v, want %v", ends, want)
	}
}

// CPUs of a cache slow each other down, as soon and as long as another one is busy.
func TestContention(t *testing.T) {
	for _, tt := range []struct {
		shape string
		work  []time.Duration
		want  []time.Duration // when each has ended
	}{
		{"1x2", []time.Duration{100 * us}, []time.Duration{100 * us}},
		{"1x2", []time.Duration{100 * us, 300 * us}, []time.Duration{125 * us, 325 * us}},
		{"2x1", []time.Duration{100 * us, 300 * us}, []time.Duration{100 * us, 300 * us}},
		{"1x4", []time.Duration{100 * us, 100 * us, 300 * us}, []time.Duration{125 * us, 125 * us, 325 * us}},
		{"1x4", []time.Duration{100 * us, 200 * us, 300 * us}, []time.Duration{125 * us, 250 * us, 350 * us}},
		{"1x2,smt=2", []time.Duration{100 * us, 100 * us}, []time.Duration{250 * us, 250 * us}},
	} {
		w := New(mustShape(t, tt.shape), Costs{Contention: 0.25, Sibling: 0.5})
		var ends []time.Duration
		for _, d := range tt.work {
			w.StartThread(func(t *Thread) {
				t.Use(d)
				ends = append(ends, w.Now())
			})
		}
		w.Run()
		for i, want := range tt.want {
			if got := ends[i]; got < want || got > want+10 { // rounded up at every change
				t.Errorf("%v on %s: ended at %v, want %v", tt.work, tt.shape, ends, tt.want)
			}
		}
	}
}

// Two threads that are always ready get the same share, and one that sleeps now and
// then is not starved.
func TestFairness(t *testing.T) {
	w := New(mustShape(t, "1x1"), Costs{Slice: 100 * us})
	got := map[int]time.Duration{}
	w.ran = func(t *Thread, _ int, from, to time.Duration) {
		if to <= 50*time.Millisecond {
			got[t.number] += to - from
		}
	}
	for range 2 {
		w.StartThread(func(t *Thread) { t.Use(time.Second) })
	}
	worst := time.Duration(0)
	w.StartThread(func(t *Thread) {
		for range 100 {
			t.Pause(300 * us)
			before := w.Now()
			t.Use(10 * us)
			worst = max(worst, w.Now()-before)
		}
	})
	w.Run()
	if d := got[0] - got[1]; d < -100*us || d > 100*us {
		t.Errorf("threads that are always ready had %v and %v", got[0], got[1])
	}
	if worst > 300*us {
		t.Errorf("a thread that sleeps mostly waited up to %v for 10 µs", worst)
	}
}

// A queue of one server at which items arrive at random, all of the same length, has the
// mean wait that Pollaczek and Khinchine give for M/D/1.
func TestMD1(t *testing.T) {
	const service = 100 * us
	for _, load := range []float64{0.2, 0.5, 0.8} {
		w := New(mustShape(t, "1x1"), Costs{})
		q := mustQueue(t, w, workqueue.Attrs{Kind: workqueue.Bound})
		rnd := rand.New(rand.NewPCG(1, 2))
		const n = 40000
		var wait time.Duration
		var g workqueue.Group
		items := make([]workqueue.Work, n)
		// Arrivals take no CPU time, and so do not disturb the server.
		w.StartThread(func(t *Thread) {
			for i := range items {
				t.Pause(time.Duration(rnd.ExpFloat64() * float64(service) / load))
				queued := w.Now()
				items[i].Init(func(*workqueue.Work) {
					wait += w.Now() - queued
					w.current.Pause(service)
				})
				g.Queue(q, &items[i])
			}
			g.Wait()
			q.Stop()
		})
		w.Run()
		q.Close()
		got := wait.Seconds() / n
		want := load / (2 * (1 - load)) * service.Seconds()
		if math.Abs(got-want) > 0.05*want {
			t.Errorf("load %.1f: items wait %.1f µs, want %.1f", load, got*1e6, want*1e6)
		}
	}
}

func mustQueue(t testing.TB, w *World, a workqueue.Attrs) *workqueue.Queue {
	t.Helper()
	q, err := workqueue.NewOn(w.Machine(20*us), a)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// policies are the queues that there can be.
var policies = []workqueue.Attrs{
	{Kind: workqueue.Bound},
	{Kind: workqueue.Bound, MaxActive: 3},
	{Kind: workqueue.Inline},
	{Kind: workqueue.Auto},
	{Kind: workqueue.Auto, MaxActive: 2, Strict: true},
	{Kind: workqueue.Unbound},
	{Kind: workqueue.Unbound, MaxActive: 1},
	{Kind: workqueue.Unbound, MaxActive: 5, Scope: workqueue.ScopeCPU},
	{Kind: workqueue.Unbound, Scope: workqueue.ScopeSystem},
	{Kind: workqueue.Unbound, Scope: workqueue.ScopeSMT, Strict: true},
	{Kind: workqueue.Unbound, Scope: workqueue.ScopeCache, Strict: true},
	{Kind: workqueue.Unbound, Scope: workqueue.ScopeCache, CPUs: []int{0, 5, 6, 7}},
}

func policyName(a workqueue.Attrs) string {
	return fmt.Sprintf("%v %v strict=%t max_active=%d cpus=%v", a.Kind, a.Scope, a.Strict, a.MaxActive, a.CPUs)
}

// What holds in every World, with random threads that have random work done.
func TestInvariants(t *testing.T) {
	topology := mustShape(t, "4x4,smt=2,numa=2")
	for _, costs := range []Costs{{}, costly} {
		for _, a := range policies {
			t.Run(fmt.Sprintf("wake %v/%s", costs.Wake, policyName(a)), func(t *testing.T) {
				testInvariants(t, New(topology, costs), a)
			})
		}
	}
}

func testInvariants(t *testing.T, w *World, a workqueue.Attrs) {
	busyUntil := make([]time.Duration, len(w.cpus))
	where := map[int]time.Duration{} // when the thread ran last
	last := time.Duration(0)
	w.ran = func(thread *Thread, cpu int, from, to time.Duration) {
		if from < busyUntil[cpu] || to <= from {
			t.Errorf("CPU %d runs two threads at %v", cpu, from)
		}
		if from < where[thread.number] {
			t.Errorf("thread %d runs on two CPUs at %v", thread.number, from)
		}
		if w.now < last {
			t.Errorf("it is %v after %v", w.now, last)
		}
		busyUntil[cpu], where[thread.number], last = to, to, w.now
	}
	q := mustQueue(t, w, a)
	allowed := len(w.cpus)
	if len(a.CPUs) > 0 {
		allowed = len(a.CPUs)
	}
	if a.MaxActive > 0 {
		allowed = min(allowed, a.MaxActive)
	}
	var active, most, units int
	rnd := rand.New(rand.NewPCG(3, 4))
	jobs, want := 40, 0
	for range 40 {
		n, pause := rnd.IntN(200), time.Duration(rnd.IntN(3000))*us
		want += 3 * n
		w.StartGoroutine(func(self *Thread) {
			for range 3 {
				self.Pause(pause)
				queuedOn := self.CPU()
				var l workqueue.Loop
				l.Init(func(from, to int) {
					if w.current != self {
						active++
						most = max(most, active)
						defer func() { active-- }()
						checkPlace(t, w, a, queuedOn, w.current.CPU())
					}
					w.current.Use(time.Duration(to-from) * 7 * us)
					if w.current != self {
						checkPlace(t, w, a, queuedOn, w.current.CPU())
					}
					units += to - from
				})
				if err := l.Run(q, n, 16, time.Duration(n)*7*us, nil); err != nil {
					t.Error(err)
				}
			}
			if jobs--; jobs == 0 {
				q.Stop()
			}
		})
	}
	w.Run()
	q.Close()
	if units != want {
		t.Errorf("%d units were worked on, want %d", units, want)
	}
	if most > allowed {
		t.Errorf("up to %d items ran at a time, want at most %d", most, allowed)
	}
	if most == 0 && a.Kind != workqueue.Inline && a.Kind != workqueue.Auto {
		t.Error("no item ran on a worker")
	}
}

// checkPlace checks where an item runs.
func checkPlace(t *testing.T, w *World, a workqueue.Attrs, queuedOn, on int) {
	limit := workqueue.MaxDistance
	switch {
	case a.Kind == workqueue.Bound:
		limit = 0
	case a.Strict && a.Scope == workqueue.ScopeSMT:
		limit = 1
	case a.Strict && a.Scope == workqueue.ScopeCache:
		limit = 2
	}
	if d := w.topology.Distance(queuedOn, on); d > limit {
		t.Errorf("an item of CPU %d runs on CPU %d, at a distance of %d", queuedOn, on, d)
	}
	if len(a.CPUs) > 0 && !slices.Contains(a.CPUs, on) {
		t.Errorf("an item runs on CPU %d, which is none of the queue's", on)
	}
}
