package workqueue

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestEveryItemRuns(t *testing.T) {
	forEachPolicy(t, func(t *testing.T, m *testMachine, a Attrs) {
		q := m.mustQueue(t, a)
		var ran atomic.Int64
		for _, n := range []int{0, 1, 2, 7, 300} {
			ran.Store(0)
			var g Group
			works := items(n, func(*Work) { ran.Add(1) })
			for i := range works {
				m.cpu.Store(int64(i % len(m.Topology)))
				g.Queue(q, &works[i])
			}
			if err := g.Wait(); err != nil {
				t.Errorf("Wait for %d items: %v", n, err)
			}
			if got := ran.Load(); got != int64(n) {
				t.Errorf("%d items ran, want %d", got, n)
			}
		}
		q.Close()
		if got, want := q.Stats().Executed, uint64(310); got != want {
			t.Errorf("Stats().Executed = %d, want %d", got, want)
		}
	})
}

func TestWorkIsUsedAgain(t *testing.T) {
	forEachPolicy(t, func(t *testing.T, m *testMachine, a Attrs) {
		q := m.mustQueue(t, a)
		defer q.Close()
		n := 0 // not atomic: Wait orders the runs
		var w Work
		w.Init(func(*Work) { n++ })
		if err := w.Wait(); err != nil {
			t.Errorf("Wait for an item that was never queued: %v", err)
		}
		for i := range 100 {
			q.Queue(&w)
			if err := w.Wait(); err != nil {
				t.Fatal(err)
			}
			if n != i+1 {
				t.Fatalf("item ran %d times after %d", n, i+1)
			}
		}
	})
}

// The number of items in flight reaches max_active and never exceeds it, on any
// number of CPUs. The limit counts for the whole queue, not for each CPU.
func TestMaxActive(t *testing.T) {
	forEachPolicy(t, func(t *testing.T, m *testMachine, a Attrs) {
		if a.Kind == Inline {
			t.Skip("an inline queue has no max_active")
		}
		cpus := len(m.Topology)
		for _, a.MaxActive = range []int{0, 1, 2, 3, cpus, cpus + 1, 10 * cpus} {
			q := m.mustQueue(t, a)
			want := min(a.MaxActive, cpus)
			if a.MaxActive == 0 {
				want = cpus
			}
			var inFlight, most atomic.Int64
			var g Group
			works := items(3*cpus, func(*Work) {
				n := inFlight.Add(1)
				for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
				}
				time.Sleep(time.Millisecond)
				inFlight.Add(-1)
			})
			for i := range works {
				m.cpu.Store(int64(i % cpus))
				g.Queue(q, &works[i])
			}
			synctest.Wait()
			if got := inFlight.Load(); got != int64(want) {
				t.Errorf("max_active %d: %d items run, want %d", a.MaxActive, got, want)
			}
			if err := g.Wait(); err != nil {
				t.Error(err)
			}
			if got := most.Load(); got > int64(want) {
				t.Errorf("max_active %d: up to %d items ran, want %d", a.MaxActive, got, want)
			}
			q.Close()
		}
	})
}

// Items of a pool start in the order in which they were queued.
func TestOrder(t *testing.T) {
	forEachPolicy(t, func(t *testing.T, m *testMachine, a Attrs) {
		a.MaxActive = 1 // so that the order in which items start can be seen
		q := m.mustQueue(t, a)
		defer q.Close()
		for cpu := range m.Topology {
			m.cpu.Store(int64(cpu))
			var got, want []int
			works := make([]Work, 20)
			for i := range works {
				works[i].Init(func(*Work) { got = append(got, i) })
				q.Queue(&works[i])
				want = append(want, i)
			}
			q.Flush()
			if !slices.Equal(got, want) {
				t.Fatalf("CPU %d: items ran in the order %v", cpu, got)
			}
		}
	})
}

// Flush waits for what was queued before it and not for what was queued after.
func TestFlush(t *testing.T) {
	forEachPolicy(t, func(t *testing.T, m *testMachine, a Attrs) {
		q := m.mustQueue(t, a)
		before, after := newGate(), newGate()
		queue := func(g *gate) {
			if a.Kind == Inline {
				go q.Queue(&g.Work)
			} else {
				q.Queue(&g.Work)
			}
			synctest.Wait()
		}
		flushed := make([]bool, 2)
		flush := func(i int) {
			go func() {
				q.Flush()
				flushed[i] = true
			}()
			synctest.Wait()
		}

		q.Flush() // nothing to wait for
		queue(before)
		flush(0)
		queue(after)
		if flushed[0] {
			t.Error("Flush returned while an item ran that was queued before it")
		}
		close(before.open)
		synctest.Wait()
		if !flushed[0] {
			t.Error("Flush waits for an item that was queued after it")
		}
		flush(1)
		if flushed[1] {
			t.Error("second Flush returned while an item ran that was queued before it")
		}
		close(after.open)
		synctest.Wait()
		if !flushed[1] {
			t.Error("second Flush does not return")
		}
		q.Close()
	})
}

// Close runs what was queued, and returns after it.
func TestCloseWhileBusy(t *testing.T) {
	forEachPolicy(t, func(t *testing.T, m *testMachine, a Attrs) {
		if a.Kind == Inline {
			t.Skip("an inline queue has no list")
		}
		a.MaxActive = 1
		q := m.mustQueue(t, a)
		g := newGate()
		q.Queue(&g.Work)
		var ran atomic.Int64
		works := items(50, func(*Work) { ran.Add(1) })
		for i := range works {
			m.cpu.Store(int64(i % len(m.Topology)))
			q.Queue(&works[i])
		}
		closed := make(chan struct{})
		for range 2 {
			go func() {
				q.Close()
				closed <- struct{}{}
			}()
		}
		synctest.Wait()
		select {
		case <-closed:
			t.Error("Close returned while an item ran")
		default:
		}
		close(g.open)
		<-closed
		if got := ran.Load(); got != 50 {
			t.Errorf("%d items ran before Close returned, want 50", got)
		}
		<-closed
	})
}

// Close waits for an inline item that runs in its caller.
func TestCloseWhileInline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestMachine(grid(2, 1, 2, 2)).mustQueue(t, Attrs{Kind: Inline})
		g := newGate()
		go q.Queue(&g.Work)
		synctest.Wait()
		closed := false
		go func() {
			q.Close()
			closed = true
		}()
		synctest.Wait()
		if closed {
			t.Error("Close returned while an item ran")
		}
		close(g.open)
		synctest.Wait()
		if !closed {
			t.Error("Close does not return")
		}
	})
}

// Close waits for workers, though they have no items.
func TestCloseWaitsForWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestMachine(grid(2, 1, 2, 2))
		starting := make(chan struct{})
		m.Pin = func([]int) error {
			<-starting
			return nil
		}
		q := m.mustQueue(t, Attrs{Kind: Bound})
		w := items(1, func(*Work) {})
		q.Queue(&w[0])
		q.Cancel(&w[0])
		closed := false
		go func() {
			q.Close()
			closed = true
		}()
		synctest.Wait()
		if closed {
			t.Error("Close returned before the worker ended")
		}
		close(starting)
		synctest.Wait()
		if !closed {
			t.Error("Close does not return")
		}
	})
}

func TestCloseUnused(t *testing.T) {
	forEachPolicy(t, func(t *testing.T, m *testMachine, a Attrs) {
		q := m.mustQueue(t, a)
		q.Close()
		q.Close()
	})
}

// With a max_active of 1, a pool whose list never empties does not keep the
// items of another pool from running.
func TestPoolsTakeTurns(t *testing.T) {
	for _, a := range []Attrs{{Kind: Bound}, {Kind: Unbound, Scope: ScopeCPU}, {Kind: Unbound, Scope: ScopeCPU, Strict: true}} {
		t.Run(policyName(a), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newTestMachine(grid(4, 1, 4, 4))
				a.MaxActive = 1
				q := m.mustQueue(t, a)
				defer q.Close()
				var busy [2]Work
				var rounds, stop atomic.Int64
				var again [2]Work // items queue each other, so that the list has one always
				for i := range busy {
					busy[i].Init(func(*Work) {
						rounds.Add(1)
						if stop.Load() == 0 {
							again[i].Wait()
							q.Queue(&again[i])
						}
					})
					again[i].Init(func(*Work) {
						rounds.Add(1)
						if stop.Load() == 0 {
							busy[i].Wait()
							q.Queue(&busy[i])
						}
					})
				}
				hold := newGate()
				q.Queue(&hold.Work)
				synctest.Wait()
				q.Queue(&busy[0])
				q.Queue(&busy[1])
				other := items(1, func(*Work) { stop.Store(rounds.Load() + 1) })
				m.cpu.Store(1)
				q.Queue(&other[0])
				synctest.Wait()
				m.cpu.Store(0)
				close(hold.open)
				other[0].Wait()
				if got := stop.Load(); got > 3 {
					t.Errorf("the other pool's item ran after %d items of the first, want at most 2", got-1)
				}
			})
		})
	}
}

// An item whose pool is busy is stolen by an idle worker of another scope,
// unless the queue is strict.
func TestStealing(t *testing.T) {
	tests := []struct {
		name  string
		attrs Attrs
		want  bool
	}{
		{"bound", Attrs{Kind: Bound}, false},
		{"cpu", Attrs{Kind: Unbound, Scope: ScopeCPU}, true},
		{"cache", Attrs{Kind: Unbound, Scope: ScopeCache}, true},
		{"cpu strict", Attrs{Kind: Unbound, Scope: ScopeCPU, Strict: true}, false},
		{"cache strict", Attrs{Kind: Unbound, Scope: ScopeCache, Strict: true}, false},
		{"cpu, max_active reached", Attrs{Kind: Unbound, Scope: ScopeCPU, MaxActive: 1}, false},
		{"cpu, on one CPU", Attrs{Kind: Unbound, Scope: ScopeCPU, CPUs: []int{3}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newTestMachine(grid(8, 1, 4, 8))
				q := m.mustQueue(t, tt.attrs)
				var gates []*gate // one for each worker of the pool of CPU 0
				for range q.pools[0].plan.workers {
					g := newGate()
					gates = append(gates, g)
					q.Queue(&g.Work)
				}
				synctest.Wait()
				var ran atomic.Bool
				var w Work
				w.Init(func(*Work) { ran.Store(true) })
				q.Queue(&w)
				synctest.Wait()
				if got := ran.Load(); got != tt.want {
					t.Errorf("item ran while its pool was busy: %t, want %t", got, tt.want)
				}
				for _, g := range gates {
					close(g.open)
				}
				q.Close()
				if !ran.Load() {
					t.Error("item did not run")
				}
				if got := q.Stats().Stolen > 0; got != tt.want {
					t.Errorf("Stats().Stolen = %d", q.Stats().Stolen)
				}
			})
		})
	}
}

// A worker that ends its own items goes on with those of a busy pool.
func TestStealingAfterOwnItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestMachine(grid(2, 1, 2, 2))
		q := m.mustQueue(t, Attrs{Kind: Unbound, Scope: ScopeCPU})
		near, far := newGate(), newGate()
		q.Queue(&near.Work)
		m.cpu.Store(1)
		q.Queue(&far.Work)
		m.cpu.Store(0)
		var w Work
		w.Init(func(*Work) {})
		q.Queue(&w) // both workers are busy
		synctest.Wait()
		close(far.open)
		w.Wait()
		close(near.open)
		q.Close()
		if got := q.Stats().Stolen; got != 1 {
			t.Errorf("Stats().Stolen = %d, want 1", got)
		}
	})
}

// A worker does not fall asleep when an item came after it looked, whose sender
// saw it awake: in its own list, or in one that it may steal from.
func TestNoLostWakeup(t *testing.T) {
	tests := []struct {
		name   string
		strict bool
		pool   int // that has the item
		token  bool
		want   bool // that the worker of pool 0 stays awake
	}{
		{"own", false, 0, true, true},
		{"own, strict", true, 0, true, true},
		{"own, max_active reached", false, 0, false, true},
		{"other", false, 1, true, true},
		{"other, strict", true, 1, true, false},
		{"other, max_active reached", false, 1, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newTestMachine(grid(2, 1, 2, 2))
				q := m.mustQueue(t, Attrs{Kind: Unbound, Scope: ScopeCPU, Strict: tt.strict, MaxActive: 1})
				if !tt.token {
					q.limiter.take()
				}
				for _, p := range q.pools {
					p.started = p.plan.workers // so that adding the item wakes nobody
				}
				w := newWorker(q.pools[0])
				item := items(1, func(*Work) {})
				m.cpu.Store(int64(tt.pool))
				q.Queue(&item[0])
				awake := false
				go func() {
					awake = !w.sleep()
				}()
				synctest.Wait()
				if awake != tt.want {
					t.Errorf("the worker is awake: %t, want %t", awake, tt.want)
				}
				if !awake {
					w.wake.Wake()
				}
			})
		})
	}
}

// No more workers start than there are CPUs, and none before it is needed.
func TestWorkersStartLazily(t *testing.T) {
	forEachPolicy(t, func(t *testing.T, m *testMachine, a Attrs) {
		var started int
		var mu sync.Mutex
		m.StartThread = func(f func()) {
			mu.Lock()
			started++
			mu.Unlock()
			go f()
		}
		a.Nice = 1 // so that all have threads
		q := m.mustQueue(t, a)
		want := 0
		if started != want {
			t.Errorf("%d workers without an item", started)
		}
		works := items(1, func(*Work) {})
		for range 10 {
			q.Queue(&works[0])
			works[0].Wait()
			synctest.Wait()
		}
		if a.Kind != Inline {
			want = 1
		}
		if started != want {
			t.Errorf("%d workers for one item after another, want %d", started, want)
		}
		q.Close()
		if cpus := len(m.Topology); started > cpus {
			t.Errorf("%d workers on %d CPUs", started, cpus)
		}
	})
}

func TestMisuse(t *testing.T) {
	m := newTestMachine(grid(1, 1, 1, 1))
	q := m.mustQueue(t, Attrs{})
	g := newGate()
	q.Queue(&g.Work)
	waiting := items(1, func(*Work) {})
	q.Queue(&waiting[0])
	inline := m.mustQueue(t, Attrs{Kind: Inline})
	closed := m.mustQueue(t, Attrs{})
	closed.Close()
	tests := []struct {
		name string
		f    func()
		want string
	}{
		{"queued or running", func() { q.Queue(&g.Work) }, "workqueue: Queue of an item that is queued or running"},
		{"queued", func() { q.Queue(&waiting[0]) }, "workqueue: Queue of an item that is queued or running"},
		{"no function", func() { q.Queue(new(Work)) }, "workqueue: Queue of an item without Init"},
		{"set up while queued", func() { waiting[0].Init(nil) }, "workqueue: Init of an item that is queued or running"},
		{"item of a group", func() {
			var g Group
			w := items(1, func(*Work) {})
			g.Queue(inline, &w[0])
			w[0].Wait()
		}, "workqueue: Wait for an item of a group"},
		{"closed", func() { closed.Queue(&items(1, func(*Work) {})[0]) }, "workqueue: Queue after Close"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			defer func() {
				if got := recover(); got != tt.want {
					t.Errorf("panic %v, want %q", got, tt.want)
				}
			}()
			tt.f()
		})
	}
	close(g.open)
	q.Close()
}

func TestNewErrors(t *testing.T) {
	m := newTestMachine(grid(2, 1, 2, 2))
	tests := []struct {
		name  string
		attrs Attrs
		want  string
	}{
		{"max_active", Attrs{Name: "read", MaxActive: -1}, `workqueue "read": max_active -1 is less than 0`},
		{"one CPU", Attrs{CPUs: []int{2}}, `workqueue "": CPU 2 is not among those that the process may use (0-1)`},
		{"CPUs", Attrs{CPUs: []int{9, 1, 5, -1, 6}}, `workqueue "": CPU -1,5-6,9 is not among those that the process may use (0-1)`},
		{"kind", Attrs{Kind: 4}, `workqueue "": unknown kind of queue "4": known are bound, unbound, inline, auto`},
		{"scope", Attrs{Scope: 5}, `workqueue "": unknown affinity scope "5": known are cache, cpu, smt, numa, system`},
		{"nice, low", Attrs{Nice: -21}, `workqueue "": nice value -21 is not within -20 to 19`},
		{"nice, high", Attrs{Nice: 20}, `workqueue "": nice value 20 is not within -20 to 19`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q, err := NewOn(m.Machine, tt.attrs)
			if err == nil || err.Error() != tt.want {
				t.Errorf("New:\n got %v\nwant %s", err, tt.want)
			}
			if q != nil {
				t.Error("queue and error")
			}
			var cpus *CPUError
			if got, want := errors.As(err, &cpus), len(tt.attrs.CPUs) > 0; got != want {
				t.Errorf("is a CPUError: %t, want %t", got, want)
			}
		})
	}
}

// What the system refuses to a worker's thread is counted and changes nothing else.
func TestRefusals(t *testing.T) {
	for _, a := range []Attrs{{Kind: Bound, Nice: -5}, {Kind: Unbound, Nice: -5}, {Kind: Unbound, Scope: ScopeCPU, Strict: true}} {
		t.Run(policyName(a), func(t *testing.T) {
			m := newTestMachine(grid(2, 1, 2, 2))
			m.Pin = func([]int) error { return errRefused }
			m.Renice = func(int) error { return errRefused }
			q := m.mustQueue(t, a)
			w := items(1, func(*Work) {})
			q.Queue(&w[0])
			w[0].Wait()
			q.Close()
			s := q.Stats()
			if got, want := s.Unpinned == 1, q.pools[0].plan.pin != nil; got != want {
				t.Errorf("Unpinned = %d", s.Unpinned)
			}
			if got, want := s.NotReniced == 1, a.Nice != 0; got != want {
				t.Errorf("NotReniced = %d", s.NotReniced)
			}
		})
	}
}

// Queueing and waiting allocate nothing, whatever the policy.
func TestAllocs(t *testing.T) {
	for _, a := range policies {
		t.Run(policyName(a), func(t *testing.T) {
			q, err := New(a)
			if err != nil {
				t.Fatal(err)
			}
			defer q.Close()
			var g Group
			works := items(16, func(*Work) { runtime.Gosched() })
			cancel := make(chan struct{})
			read := func() {
				for i := range works {
					g.Queue(q, &works[i])
				}
				g.WaitContext(cancel)
			}
			for range 100 {
				read() // all workers start
			}
			if got := testing.AllocsPerRun(1000, read); got != 0 {
				t.Errorf("%v allocations for 16 items", got)
			}
		})
	}
}
