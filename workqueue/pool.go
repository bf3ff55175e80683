package workqueue

import (
	"sync"
	"sync/atomic"
)

// A pool is a list of items and the workers that run them, first in, first out.
//
// A list that is not empty has a worker of its own pool that is awake and will
// look at it, so nothing depends on thieves. They only keep CPUs busy: who adds
// an item and finds all workers of the pool taken wakes one of another pool,
// and who runs out of items looks into the other pools before it sleeps.
type pool struct {
	plan  poolPlan
	queue *Queue

	// length is that of the list, and unused the number of workers that sleep
	// or were not started. They are changed with the lock held and read without.
	length, unused atomic.Int64

	// pending counts the items of each color that were queued and have not ended.
	pending [2]sync.WaitGroup

	mu          sync.Mutex
	first, last *Work
	color       uint8 // of items that are queued now
	closed      bool
	started     int     // workers
	asleep      *worker // linked by worker.next, the last to fall asleep first

	_ [64]byte // no cache line is shared with another pool
}

func newPool(p poolPlan, q *Queue) *pool {
	pool := &pool{plan: p, queue: q}
	pool.unused.Store(int64(p.workers))
	return pool
}

// enter colors an item that is queued here, and counts it until it ends.
// It is called with the lock held.
func (p *pool) enter(w *Work) {
	if p.closed {
		p.mu.Unlock()
		panic("workqueue: Queue after Close")
	}
	w.pool, w.color = p, p.color
	p.pending[w.color].Add(1)
}

// add appends an item to the list and wakes a worker, here or elsewhere, if
// there is one to wake.
func (p *pool) add(w *Work) {
	p.mu.Lock()
	p.enter(w)
	w.prev, w.next = p.last, nil
	if p.last == nil {
		p.first = w
	} else {
		p.last.next = w
	}
	p.last = w
	p.length.Add(1)
	worker := p.hire()
	p.mu.Unlock()
	if worker == nil {
		worker = p.queue.thief(p)
	}
	if worker != nil {
		worker.awake()
	}
}

// take removes the first item, which is now to be run.
func (p *pool) take() *Work {
	if p.length.Load() == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.first
	if w != nil {
		p.remove(w)
	}
	return w
}

// takeBack removes an item that has not started.
func (p *pool) takeBack(w *Work) bool {
	p.mu.Lock()
	if w.state.Load() != queued {
		p.mu.Unlock()
		return false
	}
	p.remove(w)
	p.mu.Unlock()
	w.end(nil)
	return true
}

// remove takes an item out of the list, with the lock held. It belongs to the
// caller then, and counts as running.
func (p *pool) remove(w *Work) {
	if w.prev == nil {
		p.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		p.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
	w.state.Store(running)
	p.length.Add(-1)
}

// hire returns a worker that sleeps, or a new one if there may be more, or
// nil. The caller, who holds the lock, calls awake after releasing it.
func (p *pool) hire() *worker {
	w := p.asleep
	switch {
	case w != nil:
		p.asleep = w.next
	case p.started < p.plan.workers && !p.closed:
		p.started++
		p.queue.workers.Add(1)
		w = newWorker(p)
	default:
		return nil
	}
	p.unused.Add(-1)
	p.queue.unused.Add(-1)
	return w
}

// flip begins a new color and returns the old one.
func (p *pool) flip() uint8 {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.color
	p.color ^= 1
	return old
}

// close refuses further items and lets the workers end when the list is empty.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	w := p.asleep
	p.asleep = nil
	p.mu.Unlock()
	for w != nil {
		next := w.next
		w.awake()
		w = next
	}
}
