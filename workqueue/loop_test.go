package workqueue

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Every unit is worked on once, however the work is divided.
func TestLoop(t *testing.T) {
	forEachPolicy(t, func(t *testing.T, m *testMachine, a Attrs) {
		q := m.mustQueue(t, a)
		defer q.Close()
		var l Loop
		units := make([]atomic.Int32, 1000)
		l.Init(func(from, to int) {
			if from >= to {
				t.Errorf("called for units %d to %d", from, to)
			}
			for i := from; i < to; i++ {
				units[i].Add(1)
			}
		})
		for _, n := range []int{0, 1, 15, 16, 17, 32, 33, 1000} {
			for _, work := range []time.Duration{0, leastWork*testHandOver - 1, leastWork * testHandOver, time.Hour} {
				if err := l.Run(q, n, 16, work, nil); err != nil {
					t.Fatal(err)
				}
				for i := range units {
					want := int32(1)
					if i >= n {
						want = 0
					}
					if got := units[i].Swap(0); got != want {
						t.Fatalf("%d units, work %v: unit %d was worked on %d times", n, work, i, got)
					}
				}
			}
		}
	})
}

// Start queues all units where it is called, and Wait waits for them.
func TestLoopStart(t *testing.T) {
	forEachPolicy(t, func(t *testing.T, m *testMachine, a Attrs) {
		q := m.mustQueue(t, a)
		defer q.Close()
		var l Loop
		var done atomic.Int32
		l.Init(func(from, to int) { done.Add(int32(to - from)) })
		for _, n := range []int{0, 1, 16, 17, 100} {
			done.Store(0)
			before := q.Stats()
			l.Start(q, n, 16)
			if err := l.Wait(); err != nil {
				t.Fatal(err)
			}
			var starter Work // who waits need not be who starts
			starter.Init(func(*Work) { l.Start(q, n, 16) })
			l.StartBy(q, &starter)
			if err := l.Wait(); err != nil {
				t.Fatal(err)
			}
			if got := done.Load(); got != 2*int32(n) {
				t.Errorf("%d units, twice: %d were worked on", n, got)
			}
			if got := q.Stats().Executed - before.Executed; got != 2*uint64((n+15)/16)+1 {
				t.Errorf("%d units, twice: %d items", n, got)
			}
		}
	})
}

// Helpers are as many as the queue's situation allows.
func TestLoopHelpers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		cpus   int
		active int // max_active
		work   time.Duration
		busy   int // workers
		want   int // items that workers ran
	}{
		{"short", 4, 0, leastWork*testHandOver - 1, 0, 0},
		{"long", 4, 0, time.Hour, 0, 3},
		{"for two", 4, 0, leastWork * testHandOver, 0, 1},
		{"one CPU", 1, 0, time.Hour, 0, 0},
		{"a worker busy", 4, 0, time.Hour, 1, 2},
		{"all busy", 4, 0, time.Hour, 4, 0},
		{"max_active 2", 4, 2, time.Hour, 0, 1},
		{"max_active 1", 4, 1, time.Hour, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newTestMachine(grid(tt.cpus, 1, tt.cpus, tt.cpus))
				q := m.mustQueue(t, Attrs{Kind: Auto, MaxActive: tt.active})
				var gates []*gate
				for range tt.busy {
					g := newGate()
					q.Queue(&g.Work)
					gates = append(gates, g)
				}
				synctest.Wait()
				var l Loop
				var working atomic.Int64
				open := make(chan struct{})
				l.Init(func(int, int) {
					working.Add(1)
					<-open
				})
				var err error
				go func() { err = l.Run(q, 1000, 16, tt.work, nil) }()
				synctest.Wait()
				if got := int(working.Load()) - 1; got != tt.want {
					t.Errorf("%d workers help, want %d", got, tt.want)
				}
				close(open)
				synctest.Wait()
				s := q.Stats()
				if c := s.ByCPU[0]; c.Inline != 1 {
					t.Errorf("%d items inline on the CPU, want 1", c.Inline)
				}
				if err != nil || s.Inline != 1 || int(s.Executed) != 1+tt.want+tt.busy {
					t.Errorf("Run = %v, %d items, %d inline; want %d and 1", err, s.Executed, s.Inline, 1+tt.want+tt.busy)
				}
				for _, g := range gates {
					close(g.open)
				}
				q.Close()
			})
		})
	}
}

// Another caller keeps a CPU busy, and a helper that does not get one is not
// waited for.
func TestLoopTakesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestMachine(grid(2, 1, 2, 2))
		q := m.mustQueue(t, Attrs{Kind: Auto})
		defer q.Close()
		open := make(chan struct{})
		var first, second Loop
		first.Init(func(int, int) { <-open })
		var running atomic.Int64
		second.Init(func(int, int) { running.Add(1) })
		go first.Run(q, 1, 16, 0, nil)
		synctest.Wait()
		if err := second.Run(q, 1000, 16, time.Hour, nil); err != nil || running.Load() != 1 {
			t.Errorf("beside another caller: %d calls, error %v; want all in one", running.Load(), err)
		}
		close(open)
		synctest.Wait()

		// Workers that are taken to be idle, but do not come before the end.
		works := []*gate{newGate(), newGate()}
		var third Loop
		third.Init(func(int, int) {})
		for _, g := range works {
			q.Queue(&g.Work)
		}
		synctest.Wait()
		q.unused.Add(2) // as if they slept
		if err := third.Run(q, 1000, 16, time.Hour, nil); err != nil {
			t.Error(err)
		}
		q.unused.Add(-2)
		for _, g := range works {
			close(g.open)
		}
	})
}

// A panic is returned to the caller, wherever it happens, when nobody works any
// more.
func TestLoopPanic(t *testing.T) {
	forEachPolicy(t, func(t *testing.T, m *testMachine, a Attrs) {
		q := m.mustQueue(t, a)
		defer q.Close()
		for _, work := range []time.Duration{0, time.Hour} {
			for _, bad := range []int{0, 500, 999} {
				var l Loop
				var working atomic.Int64
				l.Init(func(from, to int) {
					working.Add(1)
					defer working.Add(-1)
					runtime.Gosched()
					if from <= bad && bad < to {
						panic("bad unit")
					}
				})
				err := l.Run(q, 1000, 16, work, nil)
				if p, ok := errors.AsType[*PanicError](err); !ok || p.Value != "bad unit" {
					t.Errorf("Run = %v, want the panic", err)
				}
				if working.Load() != 0 {
					t.Error("somebody works after Run returned")
				}
				l.Init(func(int, int) {})
				if err := l.Run(q, 1000, 16, work, nil); err != nil {
					t.Errorf("Run after a panic = %v", err)
				}
			}
		}
	})
}

// After a panic nobody begins with further units.
func TestLoopPanicEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestMachine(grid(2, 1, 2, 2))
		q := m.mustQueue(t, Attrs{Kind: Auto})
		defer q.Close()
		var l Loop
		var calls atomic.Int64
		var once sync.Once
		both, open := make(chan struct{}), make(chan struct{})
		l.Init(func(from, _ int) {
			calls.Add(1)
			if from == 0 {
				<-both
				panic("bad unit")
			}
			once.Do(func() { close(both) })
			<-open
		})
		done := make(chan error)
		go func() { done <- l.Run(q, 1000, 16, time.Hour, nil) }()
		synctest.Wait()
		close(open)
		if err := <-done; err == nil || calls.Load() != 2 {
			t.Errorf("Run = %v after %d calls, want a panic and 2", err, calls.Load())
		}
	})
}

// When Run returns after a cancel, wherever the units are worked on, what had begun
// has ended and nothing begins.
func TestLoopCancel(t *testing.T) {
	const units, perItem = 1000, 16
	forEachPolicy(t, func(t *testing.T, m *testMachine, a Attrs) {
		for _, work := range []time.Duration{0, time.Hour} {
			q := m.mustQueue(t, a)
			var l Loop
			var calls atomic.Int64
			buffer := make([]int, units) // plain, for the race detector
			open := make(chan struct{})
			l.Init(func(from, to int) {
				calls.Add(1)
				<-open
				for i := from; i < to; i++ {
					buffer[i]++
				}
			})
			cancel := make(chan struct{})
			var err error
			returned := false
			go func() {
				err = l.Run(q, units, perItem, work, cancel)
				returned = true
				clear(buffer) // it is the caller's again
			}()
			synctest.Wait()
			begun := calls.Load()
			if begun == 0 || begun > int64(len(m.Topology)) {
				t.Errorf("work %v: %d calls run on %d CPUs", work, begun, len(m.Topology))
			}
			close(cancel)
			synctest.Wait()
			if returned {
				t.Errorf("work %v: Run returned while the function runs", work)
			}
			close(open)
			synctest.Wait()
			// With as many CPUs as items all have begun, and the work is complete.
			want := ErrCanceled
			if begun == (units+perItem-1)/perItem && a.Kind != Auto {
				want = nil
			}
			if !returned || err != want {
				t.Errorf("work %v: Run returned: %t, %v, want %v", work, returned, err, want)
			}
			if n := calls.Load(); n != begun {
				t.Errorf("work %v: %d calls, of which %d began after the cancel", work, n, n-begun)
			}
			q.Flush()
			for i, n := range buffer {
				if n != 0 {
					t.Fatalf("work %v: unit %d was worked on after Run returned", work, i)
				}
			}
			// The Loop is as new.
			if err := l.Run(q, units, perItem, work, nil); err != nil {
				t.Errorf("work %v: Run after a cancel = %v", work, err)
			}
			for i, n := range buffer {
				if n != 1 {
					t.Fatalf("work %v: unit %d was worked on %d times after a cancel", work, i, n)
				}
			}
			q.Close()
		}
	})
}

// With a cancel before the first unit none is worked on.
func TestLoopCanceledBefore(t *testing.T) {
	cancel := make(chan struct{})
	close(cancel)
	forEachPolicy(t, func(t *testing.T, m *testMachine, a Attrs) {
		q := m.mustQueue(t, a)
		defer q.Close()
		var l Loop
		l.Init(func(from, to int) { t.Errorf("worked on units %d to %d", from, to) })
		for _, work := range []time.Duration{0, time.Hour} {
			if err := l.Run(q, 1000, 16, work, cancel); err != ErrCanceled {
				t.Errorf("work %v: Run = %v, want ErrCanceled", work, err)
			}
			if err := l.Run(q, 0, 16, work, cancel); err != nil {
				t.Errorf("work %v: Run of no units = %v, want nil", work, err)
			}
		}
	})
}

// A cancel that comes when all units have begun changes nothing.
func TestLoopCanceledTooLate(t *testing.T) {
	forEachPolicy(t, func(t *testing.T, m *testMachine, a Attrs) {
		q := m.mustQueue(t, a)
		defer q.Close()
		for _, work := range []time.Duration{0, time.Hour} {
			cancel := make(chan struct{})
			var l Loop
			var left atomic.Int64
			left.Store(1000)
			l.Init(func(from, to int) {
				if left.Add(int64(from-to)) == 0 {
					close(cancel)
				}
			})
			if err := l.Run(q, 1000, 16, work, cancel); err != nil {
				t.Errorf("work %v: Run = %v, want nil", work, err)
			}
		}
	})
}

// A panic is told rather than the cancel that came after it.
func TestLoopPanicAndCancel(t *testing.T) {
	forEachPolicy(t, func(t *testing.T, m *testMachine, a Attrs) {
		q := m.mustQueue(t, a)
		defer q.Close()
		for _, work := range []time.Duration{0, time.Hour} {
			cancel := make(chan struct{})
			var l Loop
			var once sync.Once
			l.Init(func(int, int) {
				bad := false
				once.Do(func() {
					close(cancel)
					bad = true
				})
				if bad {
					panic("bad unit")
				}
			})
			err := l.Run(q, 1000, 16, work, cancel)
			if p, ok := errors.AsType[*PanicError](err); !ok || p.Value != "bad unit" {
				t.Errorf("work %v: Run = %v, want the panic", work, err)
			}
		}
	})
}

func TestLoopAllocatesNothing(t *testing.T) {
	needCPUs(t, 2)
	for _, a := range policies {
		t.Run(policyName(a), func(t *testing.T) {
			q, err := New(a)
			if err != nil {
				t.Fatal(err)
			}
			defer q.Close()
			var l Loop
			var sum atomic.Int64
			l.Init(func(from, to int) { sum.Add(int64(to - from)) })
			cancel := make(chan struct{})
			// The average is rounded down, which leaves the runtime some for itself.
			if got := testing.AllocsPerRun(200, func() {
				for _, c := range []chan struct{}{nil, cancel} {
					if err := l.Run(q, 256, 16, time.Hour, c); err != nil {
						t.Fatal(err)
					}
				}
			}); got != 0 {
				t.Errorf("Run makes %v allocations, want none", got)
			}
		})
	}
}

// Loops of many callers at once, on a real machine.
func TestLoopStress(t *testing.T) {
	for _, a := range policies {
		t.Run(policyName(a), func(t *testing.T) {
			q, err := New(a)
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for caller := range 8 {
				wg.Go(func() {
					var l Loop
					data := make([]int, 300) // plain, for the race detector
					l.Init(func(from, to int) {
						for i := from; i < to; i++ {
							data[i]++
						}
					})
					for round := range 200 {
						n := (caller*37 + round*13) % 300
						if err := l.Run(q, n, 16, time.Duration(round%3)*time.Hour, nil); err != nil {
							t.Error(err)
						}
						for i := range data {
							if want := min(1, max(0, n-i)); data[i] != want {
								t.Errorf("unit %d of %d was worked on %d times", i, n, data[i])
							}
							data[i] = 0
						}
					}
				})
			}
			wg.Wait()
			q.Close()
		})
	}
}

// BenchmarkLoop measures what a loop costs, of work that is short or long, without a
// cancel and with one that does not come.
func BenchmarkLoop(b *testing.B) {
	for _, a := range policies {
		for _, work := range []time.Duration{0, time.Hour} {
			for _, cancel := range []chan struct{}{nil, make(chan struct{})} {
				b.Run(fmt.Sprintf("queue=%s/long=%t/cancel=%t", policyName(a), work > 0, cancel != nil), func(b *testing.B) {
					q, err := New(a)
					if err != nil {
						b.Fatal(err)
					}
					defer q.Close()
					var l Loop
					l.Init(func(int, int) {})
					for b.Loop() {
						l.Run(q, 16, 16, work, cancel)
					}
				})
			}
		}
	}
}
