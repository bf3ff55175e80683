package workqueue

import (
	"sync"
	"sync/atomic"
)

// A limiter keeps the number of items that run within max_active. A worker
// holds one of its tokens while it runs an item. Workers that have items but
// no token wait in the order in which they came, so that pools take turns. Only
// they use the lock.
type limiter struct {
	free    atomic.Int64 // tokens
	waiting atomic.Int64 // workers in the list

	mu          sync.Mutex
	first, last *worker // linked by worker.next; guarded by mu
}

func newLimiter(tokens int) *limiter {
	l := new(limiter)
	l.free.Store(int64(tokens))
	return l
}

// tryAcquire takes a token if there is one that nobody waits for.
func (l *limiter) tryAcquire() bool { return l.waiting.Load() == 0 && l.take() }

func (l *limiter) take() bool {
	for {
		n := l.free.Load()
		if n <= 0 {
			return false
		}
		if l.free.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

// acquire takes a token for the worker, and waits for it.
func (l *limiter) acquire(w *worker) {
	if l.tryAcquire() {
		return
	}
	l.mu.Lock()
	// Who releases a token looks for waiters after it is free, so either that
	// one sees this waiter or this one the token.
	l.waiting.Add(1)
	if l.first == nil && l.take() {
		l.waiting.Add(-1)
		l.mu.Unlock()
		return
	}
	w.next = nil
	if l.first == nil {
		l.first = w
	} else {
		l.last.next = w
	}
	l.last = w
	l.mu.Unlock()
	w.wake.Sleep(nil)
}

// release gives a token back, or to the worker that has waited longest.
func (l *limiter) release() {
	l.free.Add(1)
	if l.waiting.Load() == 0 {
		return
	}
	l.mu.Lock()
	w := l.first
	if w != nil && l.take() {
		l.first = w.next
		l.waiting.Add(-1)
	} else {
		w = nil
	}
	l.mu.Unlock()
	if w != nil {
		w.wake.Wake()
	}
}
