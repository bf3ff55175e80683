package workqueue

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// A Work is an item: a function to run, and its place in a queue. It is meant
// to be part of a larger struct, is set up once with Init, and may be queued
// again and again, though not before it has ended. It must not be copied.
//
// What happened before an item was queued is visible to its function, and what
// the function did is visible after Wait.
type Work struct {
	fn    func(*Work)
	state atomic.Uint32

	pool  *pool // that it was last queued to
	color uint8 // of the pool when it was queued; see Queue.Flush

	queuedAt time.Duration // by the machine's clock

	prev, next *Work // in the list of the pool, guarded by its lock

	group   *Group // that waits for it
	sibling *Work  // next item of the group, owned by who waits
	alone   Group  // the group of an item that was queued by itself
}

// States of a Work.
const (
	idle uint32 = iota
	queued
	running
)

// Init sets the function that runs when the item does. It is called before the
// first use, and not while the item is queued or running.
func (w *Work) Init(fn func(*Work)) {
	if w.state.Load() != idle {
		panic("workqueue: Init of an item that is queued or running")
	}
	w.fn = fn
}

// Wait returns when the item, which was queued by [Queue.Queue], has ended or
// was taken back; at once if it was not queued since the last Wait. Its error
// is nil, or a *PanicError if the function panicked. One goroutine at a time
// may wait for an item, and no item of the same queue should: it takes up a
// worker that the other may need.
func (w *Work) Wait() error {
	if w.group != nil && w.group != &w.alone {
		panic("workqueue: Wait for an item of a group")
	}
	return w.alone.Wait()
}

// claim marks the item as queued for the group.
func (w *Work) claim(q *Queue, g *Group) {
	if w.fn == nil {
		panic("workqueue: Queue of an item without Init")
	}
	if !w.state.CompareAndSwap(idle, queued) {
		panic("workqueue: Queue of an item that is queued or running")
	}
	w.group = g
	if g.queue == nil { // an item of the group may queue another one while its owner waits
		g.queue = q
	}
	g.add()
}

// run calls the function and tells the group, then the pool, that the item
// has ended. From the moment the group knows, the item is its owner's again.
// It does all this also when the function panics, which stops here, and when
// it ends its goroutine with runtime.Goexit, which does not.
func (w *Work) run() {
	returned := false
	defer func() {
		var failure *PanicError
		if !returned {
			failure = &PanicError{Value: recover(), Stack: debug.Stack()}
		}
		w.end(failure)
	}()
	w.fn(w)
	returned = true
}

// end makes the item idle after it ran or was taken back.
func (w *Work) end(failure *PanicError) {
	group, pending := w.group, &w.pool.pending[w.color]
	w.state.Store(idle)
	group.done(failure)
	pending.Done()
}

// A PanicError is the panic of an item's function.
type PanicError struct {
	Value any    // what recover returned; nil if the function called runtime.Goexit
	Stack []byte // as of runtime/debug.Stack, for people
}

// Error gives the value, without the stack.
func (e *PanicError) Error() string {
	if e.Value == nil {
		return "workqueue: the item ended its goroutine"
	}
	return fmt.Sprintf("workqueue: panic in an item: %v", e.Value)
}

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
