package simulate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"encfs/workqueue"
)

// An arrival is an item that is queued at a time on a CPU, and then runs for some time.
type arrival struct {
	at, service time.Duration
	cpu         int
}

// A decision is what a queue did with an item.
type decision struct {
	start time.Duration
	after int // items that had ended by then
}

// A queue that has goroutines and one in a World, which takes no time for anything else
// than items, do the same at the same time: they steal the same, and max_active holds
// the same items back.
func TestSameDecisions(t *testing.T) {
	for _, shape := range []string{"1x1", "1x4", "4x4,smt=2,numa=2"} {
		topology := mustShape(t, shape)
		for _, a := range policies {
			if len(a.CPUs) > 0 && len(topology) < 8 {
				continue
			}
			for _, load := range []float64{0.3, 0.9, 1.5} {
				t.Run(fmt.Sprintf("%s/%s/load %.1f", shape, policyName(a), load), func(t *testing.T) {
					arrivals := randomArrivals(len(topology), 400, load)
					var want, got []decision
					var wantStats, gotStats workqueue.Stats
					synctest.Test(t, func(t *testing.T) { want, wantStats = decideHere(t, topology, a, arrivals) })
					got, gotStats = decideInWorld(t, topology, a, arrivals)
					for i := range want {
						if got[i] != want[i] {
							t.Fatalf("item %d of %+v: in a World %+v, with goroutines %+v", i, arrivals[i], got[i], want[i])
						}
					}
					if gotStats.Stolen != wantStats.Stolen || gotStats.Executed != wantStats.Executed || gotStats.Inline != wantStats.Inline {
						t.Errorf("in a World %d of %d stolen, %d inline; with goroutines %d of %d, %d",
							gotStats.Stolen, gotStats.Executed, gotStats.Inline, wantStats.Stolen, wantStats.Executed, wantStats.Inline)
					}
				})
			}
		}
	}
}

// randomArrivals returns items that keep the CPUs busy for a part of the time, most of
// them queued on a few CPUs.
func randomArrivals(cpus, n int, load float64) []arrival {
	rnd := rand.New(rand.NewPCG(5, uint64(cpus)))
	var arrivals []arrival
	at := time.Duration(0)
	for range n {
		at += time.Duration(rnd.ExpFloat64()*float64(time.Millisecond)/float64(cpus)/load) + 1
		cpu := rnd.IntN(cpus)
		if rnd.IntN(3) > 0 {
			cpu /= 4
		}
		arrivals = append(arrivals, arrival{at, time.Duration(rnd.Int64N(int64(2*time.Millisecond))) + 1, cpu})
	}
	return arrivals
}

// decideHere has goroutines run the items.
func decideHere(t *testing.T, topology workqueue.Topology, a workqueue.Attrs, arrivals []arrival) ([]decision, workqueue.Stats) {
	start := time.Now()
	var cpu, ended atomic.Int64
	now := func() time.Duration { return time.Since(start) }
	run := func(f func()) { go f() }
	q, err := workqueue.NewOn(workqueue.Machine{
		Topology: topology, CurrentCPU: func() int { return int(cpu.Load()) }, Now: now,
		Start: run, StartThread: run,
		Pin: func([]int) error { return nil }, Renice: func(int) error { return nil },
		NewSleeper: func() workqueue.Sleeper { return make(channel, 1) },
		LeaveNext:  func() {}, HandOver: func() time.Duration { return 20 * us },
	}, a)
	if err != nil {
		t.Fatal(err)
	}
	decisions := make([]decision, len(arrivals))
	items := make([]workqueue.Work, len(arrivals))
	for i, x := range arrivals {
		items[i].Init(func(*workqueue.Work) {
			decisions[i] = decision{now(), int(ended.Load())}
			time.Sleep(x.service)
			ended.Add(1)
		})
		if d := x.at - now(); d > 0 { // an inline queue may be late
			time.Sleep(d)
		}
		cpu.Store(int64(x.cpu))
		q.Queue(&items[i])
	}
	q.Close()
	return decisions, q.Stats()
}

// A channel is a Sleeper of goroutines.
type channel chan struct{}

func (c channel) Sleep(<-chan struct{}) bool { <-c; return true }
func (c channel) Wake()                      { c <- struct{}{} }

// decideInWorld has threads of a World run the items.
func decideInWorld(t *testing.T, topology workqueue.Topology, a workqueue.Attrs, arrivals []arrival) ([]decision, workqueue.Stats) {
	w := New(topology, Costs{})
	q := mustQueue(t, w, a)
	decisions := make([]decision, len(arrivals))
	items := make([]workqueue.Work, len(arrivals))
	ended := 0
	w.StartThread(func(self *Thread) {
		for i, x := range arrivals {
			items[i].Init(func(*workqueue.Work) {
				decisions[i] = decision{w.Now(), ended}
				w.current.Pause(x.service)
				ended++
			})
			if d := x.at - w.Now(); d > 0 {
				self.Pause(d)
			}
			self.pin([]int{x.cpu})
			q.Queue(&items[i])
		}
		q.Stop()
	})
	w.Run()
	q.Close()
	return decisions, q.Stats()
}

// The same input gives the same run.
func TestDeterminism(t *testing.T) {
	topology := mustShape(t, "4x4,smt=2,numa=2")
	for _, a := range policies {
		run := func() []time.Duration {
			w := New(topology, costly)
			var spans []time.Duration
			w.ran = func(thread *Thread, cpu int, from, to time.Duration) {
				spans = append(spans, time.Duration(thread.number), time.Duration(cpu), from, to)
			}
			q := mustQueue(t, w, a)
			jobs := 10
			for i := range jobs {
				w.StartThread(func(self *Thread) {
					var l workqueue.Loop
					l.Init(func(from, to int) { w.current.Use(time.Duration(to-from) * 11 * us) })
					for k := range 10 {
						if err := l.Run(q, 50*k+i, 16, time.Duration(50*k+i)*11*us, nil); err != nil {
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
			return spans
		}
		if first, second := run(), run(); !slices.Equal(first, second) {
			t.Errorf("%s: two runs are different", policyName(a))
		}
	}
}
