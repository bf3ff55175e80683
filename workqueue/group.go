package workqueue

import (
	"errors"
	"sync/atomic"
)

// ErrCanceled means that not all items of a group ran, or not all units of a Loop
// were worked on, as the caller of [Group.WaitContext] or [Loop.Run] no longer
// wanted them.
var ErrCanceled = errors.New("workqueue: canceled")

// A Group is a number of items that are waited for together: the goroutine
// that queued them is woken once, after the last. The zero value is ready for
// use, and again after each Wait or WaitContext. All methods are for one
// goroutine at a time, though the items may be on several queues; but while Wait
// waits, an item of the group may queue further ones. It must not be copied.
type Group struct {
	// state is twice the number of items that have not ended, plus 1 while
	// somebody waits. Who brings it to 1 wakes the waiter.
	state   atomic.Int64
	wake    Sleeper // made by the first wait that blocks
	failure atomic.Pointer[PanicError]
	items   *Work  // queued through the group, the last first
	queue   *Queue // of the first item ever, whose machine makes wake
}

// Queue queues the item as [Queue.Queue] does, as one of the group. The item
// is not queued again before the group was waited for.
func (g *Group) Queue(q *Queue, w *Work) {
	w.claim(q, g)
	w.sibling = g.items
	g.items = w
	q.place(w)
}

// Wait returns when all items of the group have ended. Its error is nil, or
// the *PanicError of the first item that panicked.
func (g *Group) Wait() error {
	return g.WaitContext(nil)
}

// WaitContext is Wait until cancel can be received from. Then it takes back the
// items that have not started and waits for those that have, so that in every
// case no item of the group runs, or will run, when it returns. The error is
// ErrCanceled if items were taken back and none panicked. If all had started,
// the work is complete and WaitContext does as Wait does.
func (g *Group) WaitContext(cancel <-chan struct{}) error {
	canceled := false
	if g.state.Load() != 0 {
		if g.wake == nil {
			g.wake = g.queue.machine.NewSleeper()
		}
		if g.state.Add(1) != 1 {
			if !g.wake.Sleep(cancel) {
				canceled = g.takeBack() > 0
				g.wake.Sleep(nil)
			}
		}
		g.state.Add(-1)
	}
	g.items = nil
	failure := g.failure.Swap(nil)
	switch {
	case failure != nil:
		return failure
	case canceled:
		return ErrCanceled
	}
	return nil
}

// Cancel takes back the items of the group that have not started, waits for
// those that have, and returns how many it took back.
func (g *Group) Cancel() int {
	n := g.takeBack()
	g.Wait()
	return n
}

// takeBack takes back the items that have not started.
func (g *Group) takeBack() int {
	n := 0
	for w := g.items; w != nil; w = w.sibling {
		if w.pool.takeBack(w) {
			n++
		}
	}
	return n
}

func (g *Group) add() { g.state.Add(2) }

// done counts an item that has ended. The group may be used anew, by its
// owner, from the moment the count is down.
func (g *Group) done(failure *PanicError) {
	if failure != nil {
		g.failure.CompareAndSwap(nil, failure)
	}
	if g.state.Add(-2) == 1 {
		g.wake.Wake()
	}
}
