package workqueue

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Queue runs items on its workers. Its methods may be called from several
// goroutines at once, items among them where they do not wait for themselves.
type Queue struct {
	attrs   Attrs
	machine Machine
	plan    plan
	pools   []*pool  // of the plan
	limiter *limiter // nil if there are no more workers than max_active

	workers sync.WaitGroup // that were started and have not ended
	unused  atomic.Int64   // sum over the pools

	// flushing holds a value while somebody flushes. It is a lock that, unlike a
	// mutex, testing/synctest sees goroutines wait for.
	flushing chan struct{}

	cpus        int // that items run on at a time
	callers     []callers
	callersUsed atomic.Uint64
	handOver    func() time.Duration // measured by the first who wants to know

	counters             []counter // by CPU
	unpinned, notReniced atomic.Uint64
}

// New returns a queue. Its workers start when items need them: at most one for
// each of its CPUs, whatever MaxActive is. Errors are a *CPUError for CPUs that
// the process may not use, a *RangeError for a number that is too small or too
// large, a *NameError for an unknown kind or scope, or that of the system when
// it does not tell the affinity mask; they are wrapped.
func New(a Attrs) (*Queue, error) {
	m, err := hostMachine()
	if err != nil {
		return nil, fmt.Errorf("workqueue %q: %w", a.Name, err)
	}
	return NewOn(m, a)
}

// NewOn is [New] for another machine than the one that the process runs on.
func NewOn(m Machine, a Attrs) (*Queue, error) {
	if err := a.check(); err != nil {
		return nil, fmt.Errorf("workqueue %q: %w", a.Name, err)
	}
	allowed := m.Topology.CPUs()
	cpus := allowed
	if len(a.CPUs) > 0 {
		cpus = sortCPUs(a.CPUs)
	}
	bad := slices.DeleteFunc(slices.Clone(cpus), func(cpu int) bool { return slices.Contains(allowed, cpu) })
	if len(bad) > 0 {
		return nil, fmt.Errorf("workqueue %q: %w", a.Name, &CPUError{CPUs: bad, Allowed: allowed})
	}

	q := &Queue{
		attrs:    a,
		machine:  m,
		plan:     newPlan(a, m.Topology, cpus),
		flushing: make(chan struct{}, 1),
		callers:  make([]callers, len(m.Topology)),
		handOver: sync.OnceValue(m.HandOver),
	}
	for _, p := range q.plan.pools {
		q.pools = append(q.pools, newPool(p, q))
	}
	workers := q.plan.workers()
	q.unused.Store(int64(workers))
	q.cpus = workers
	if a.MaxActive > 0 && a.MaxActive < workers {
		q.limiter = newLimiter(a.MaxActive)
		q.cpus = a.MaxActive
	}
	q.counters = make([]counter, len(q.plan.home))
	return q, nil
}

// Attrs returns the attributes that the queue was made with.
func (q *Queue) Attrs() Attrs { return q.attrs }

// Queue hands an item over to the pool that the kind of the queue and the
// current CPU decide, and returns. It allocates nothing, except when a worker
// starts. The item must not be queued or running, and the queue not be closed.
//
// An inline queue runs the item before Queue returns.
func (q *Queue) Queue(w *Work) {
	w.claim(q, &w.alone)
	w.alone.failure.Store(nil)
	q.place(w)
}

// place puts a claimed item where it belongs.
func (q *Queue) place(w *Work) {
	cpu := q.machine.CurrentCPU()
	p := q.pools[q.plan.homeOf(cpu)]
	if p.plan.workers > 0 {
		w.queuedAt = q.machine.Now()
		p.add(w)
		return
	}
	p.mu.Lock()
	p.enter(w)
	w.state.Store(running)
	p.mu.Unlock()
	n := q.counter(cpu)
	n.executed.Add(1)
	n.inline.Add(1)
	w.run()
}

// Cancel takes back an item that has not started, and returns whether it was
// taken back; who waits for it is woken. An item that runs or has ended stays as
// it is. It is called by who queued the item, not while that may be queued anew.
func (q *Queue) Cancel(w *Work) bool {
	return w.pool != nil && w.pool.queue == q && w.pool.takeBack(w)
}

// Flush returns when all items that were queued before the call have ended or
// were taken back. Items that are queued during it are not waited for. An item
// must not flush its own queue.
//
// As in the kernel, items have the color of the time when they were queued.
// Flush changes the color and waits until none of the old one is left. Two
// colors do, as one flush waits for the other.
func (q *Queue) Flush() {
	q.flushing <- struct{}{}
	defer func() { <-q.flushing }()
	old := make([]uint8, len(q.pools))
	for i, p := range q.pools {
		old[i] = p.flip()
	}
	for i, p := range q.pools {
		p.pending[old[i]].Wait()
	}
}

// Stop begins what Close completes, without waiting: no item may be queued any more, and
// workers end when none is left to run.
func (q *Queue) Stop() {
	for _, p := range q.pools {
		p.close()
	}
}

// Close waits for all items, and for the workers, which end: those that have a
// thread of their own take it with them, with its affinity and nice value. No
// item may be queued after Close was called, and no item must close its queue.
// A second Close waits as the first does.
func (q *Queue) Close() {
	q.Stop()
	q.Flush()
	q.workers.Wait()
}

// thief returns a worker of another pool that has nothing to do and may steal
// from this one, if max_active allows it to run anything. The caller awakes it.
func (q *Queue) thief(p *pool) *worker {
	if q.unused.Load() <= 0 || q.limiter != nil && q.limiter.free.Load() <= 0 {
		return nil
	}
	for _, i := range p.plan.steal {
		other := q.pools[i]
		if other.unused.Load() <= 0 {
			continue
		}
		other.mu.Lock()
		w := other.hire()
		other.mu.Unlock()
		if w != nil {
			return w
		}
	}
	return nil
}
