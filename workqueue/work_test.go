package workqueue

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func TestCancel(t *testing.T) {
	forEachPolicy(t, func(t *testing.T, m *testMachine, a Attrs) {
		if a.Kind == Inline {
			t.Skip("an inline queue has no items that have not started")
		}
		a.MaxActive = 1
		q := m.mustQueue(t, a)
		var ran [3]bool
		var works [3]Work
		for i := range works {
			works[i].Init(func(*Work) { ran[i] = true })
		}
		if q.Cancel(&works[0]) {
			t.Error("took back an item that was never queued")
		}
		g := newGate()
		q.Queue(&g.Work)
		synctest.Wait()
		for i := range works {
			q.Queue(&works[i])
		}
		synctest.Wait()
		if q.Cancel(&g.Work) {
			t.Error("took back an item that runs")
		}
		waited := false
		go func() {
			works[1].Wait()
			waited = true
		}()
		synctest.Wait()
		if !q.Cancel(&works[1]) {
			t.Error("did not take back an item that waits")
		}
		if q.Cancel(&works[1]) {
			t.Error("took back an item twice")
		}
		synctest.Wait()
		if !waited {
			t.Error("the item was taken back but Wait did not return")
		}
		other := m.mustQueue(t, a)
		if other.Cancel(&works[2]) {
			t.Error("took back an item of another queue")
		}
		other.Close()
		close(g.open)
		q.Flush()
		if want := [3]bool{true, false, true}; ran != want {
			t.Errorf("items ran: %v, want %v", ran, want)
		}
		if q.Cancel(&works[2]) {
			t.Error("took back an item that has ended")
		}
		q.Queue(&works[1]) // may be queued anew
		q.Close()
		if !ran[1] {
			t.Error("an item that was taken back and queued anew did not run")
		}
	})
}

// The first, last, and only item of a list can be taken back.
func TestCancelAnywhere(t *testing.T) {
	for _, take := range [][]int{{0}, {1}, {3}, {0, 1}, {3, 2}, {1, 2}, {0, 3}, {0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 1, 3}} {
		synctest.Test(t, func(t *testing.T) {
			m := newTestMachine(grid(1, 1, 1, 1))
			q := m.mustQueue(t, Attrs{})
			g := newGate()
			q.Queue(&g.Work)
			synctest.Wait()
			var ran, want [5]bool
			var works [5]Work
			for i := range works {
				works[i].Init(func(*Work) { ran[i] = true })
			}
			for i := range 4 {
				q.Queue(&works[i])
				want[i] = true
			}
			for _, i := range take {
				if !q.Cancel(&works[i]) {
					t.Errorf("%v: did not take back item %d", take, i)
				}
				want[i] = false
			}
			q.Queue(&works[4])
			want[4] = true
			close(g.open)
			q.Close()
			if ran != want {
				t.Errorf("taken back %v: items ran: %v, want %v", take, ran, want)
			}
		})
	}
}

// When WaitContext returns, no item of the group runs or will run, canceled or
// not: the buffer is the caller's.
func TestGroupCancel(t *testing.T) {
	forEachPolicy(t, func(t *testing.T, m *testMachine, a Attrs) {
		if a.Kind == Inline {
			t.Skip("an inline queue has no items that have not started")
		}
		a.MaxActive = 1
		q := m.mustQueue(t, a)
		var g Group
		var buffer []int // plain, for the race detector
		running := newGate()
		rest := items(5, func(*Work) { buffer = append(buffer, 1) })
		g.Queue(q, &running.Work)
		for i := range rest {
			m.cpu.Store(int64(i % len(m.Topology)))
			g.Queue(q, &rest[i])
		}
		synctest.Wait()
		cancel := make(chan struct{})
		var err error
		returned := false
		go func() {
			err = g.WaitContext(cancel)
			returned = true
			buffer = nil
		}()
		synctest.Wait()
		close(cancel)
		synctest.Wait()
		started := running.running.Load()
		if started && returned {
			t.Fatal("WaitContext returned while an item ran")
		}
		close(running.open)
		synctest.Wait()
		if !returned || !errors.Is(err, ErrCanceled) {
			t.Errorf("WaitContext returned: %t, %v", returned, err)
		}
		q.Flush()
		if len(buffer) != 0 {
			t.Errorf("%d items ran after WaitContext returned", len(buffer))
		}
		// The group and its items are as new.
		for i := range rest {
			g.Queue(q, &rest[i])
		}
		if err := g.Wait(); err != nil || len(buffer) != 5 {
			t.Errorf("after a cancel: %d items ran, error %v", len(buffer), err)
		}
		q.Close()
	})
}

// A group whose items have all started is complete, though the cancel came first.
func TestGroupCancelTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestMachine(grid(1, 1, 1, 1))
		q := m.mustQueue(t, Attrs{})
		defer q.Close()
		var g Group
		w := newGate()
		g.Queue(q, &w.Work)
		synctest.Wait()
		cancel := make(chan struct{})
		close(cancel)
		result := make(chan error)
		go func() { result <- g.WaitContext(cancel) }()
		synctest.Wait()
		close(w.open)
		if err := <-result; err != nil {
			t.Errorf("WaitContext = %v, want nil", err)
		}
	})
}

func TestGroupCancelCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestMachine(grid(1, 1, 1, 1))
		q := m.mustQueue(t, Attrs{})
		defer q.Close()
		var g Group
		if n := g.Cancel(); n != 0 {
			t.Errorf("Cancel of an empty group = %d", n)
		}
		other := newGate()
		q.Queue(&other.Work)
		synctest.Wait()
		works := items(3, func(*Work) { t.Error("an item ran") })
		for i := range works {
			g.Queue(q, &works[i])
		}
		if n := g.Cancel(); n != 3 {
			t.Errorf("Cancel = %d, want 3", n)
		}
		close(other.open)
	})
}

func TestPanic(t *testing.T) {
	forEachPolicy(t, func(t *testing.T, m *testMachine, a Attrs) {
		q := m.mustQueue(t, a)
		defer q.Close()
		var w Work
		w.Init(func(*Work) { panic("the item's mistake") })
		check := func(err error) {
			t.Helper()
			var p *PanicError
			if !errors.As(err, &p) || p.Value != "the item's mistake" {
				t.Fatalf("Wait = %v, want the item's panic", err)
			}
			if !strings.Contains(string(p.Stack), "TestPanic") {
				t.Errorf("the stack does not name the item's function:\n%s", p.Stack)
			}
		}
		q.Queue(&w)
		check(w.Wait())
		if err := w.Wait(); err != nil {
			t.Errorf("the panic is returned twice: %v", err)
		}

		var g Group
		works := items(8, func(*Work) {})
		for i := range works {
			g.Queue(q, &works[i])
		}
		g.Queue(q, &w)
		check(g.Wait())

		// Nobody waits for this one; it is not held against the next.
		q.Queue(&w)
		q.Flush()
		w.Init(func(*Work) {})
		q.Queue(&w)
		if err := w.Wait(); err != nil {
			t.Errorf("Wait for an item after one that panicked = %v", err)
		}
	})
}

func TestPanicError(t *testing.T) {
	err := error(&PanicError{Value: io.ErrUnexpectedEOF})
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error("a panic with an error does not unwrap to it")
	}
	for _, tt := range []struct {
		value any
		want  string
	}{
		{"bad length", "workqueue: panic in an item: bad length"},
		{io.EOF, "workqueue: panic in an item: EOF"},
		{nil, "workqueue: the item ended its goroutine"},
	} {
		if got := (&PanicError{Value: tt.value}).Error(); got != tt.want {
			t.Errorf("PanicError of %v: %q, want %q", tt.value, got, tt.want)
		}
	}
}

// An item that ends its goroutine does not take the worker with it.
func TestGoexit(t *testing.T) {
	forEachPolicy(t, func(t *testing.T, m *testMachine, a Attrs) {
		if a.Kind == Inline {
			t.Skip("an inline item ends the goroutine of its caller")
		}
		for _, a.MaxActive = range []int{0, 1} {
			q := m.mustQueue(t, a)
			works := items(3*len(m.Topology), func(*Work) { runtime.Goexit() })
			for i := range works {
				m.cpu.Store(int64(i % len(m.Topology)))
				q.Queue(&works[i])
			}
			for i := range works {
				var p *PanicError
				if err := works[i].Wait(); !errors.As(err, &p) || p.Value != nil {
					t.Errorf("Wait = %v", err)
				}
			}
			q.Close()
		}
	})
}

// Items may queue items.
func TestQueueFromItem(t *testing.T) {
	forEachPolicy(t, func(t *testing.T, m *testMachine, a Attrs) {
		q := m.mustQueue(t, a)
		defer q.Close()
		var n atomic.Int64
		second := items(1, func(*Work) { n.Add(1) })
		first := items(1, func(*Work) { q.Queue(&second[0]) })
		q.Queue(&first[0])
		first[0].Wait()
		second[0].Wait()
		if n.Load() != 1 {
			t.Error("the item's item did not run")
		}
	})
}
