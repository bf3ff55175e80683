package workqueue

import (
	"runtime/debug"
	"sync/atomic"
	"time"
)

// A Loop is work on a number of units, in any order and several at a time. It is
// set up once with Init, or is a part of something that is used again and again,
// and one goroutine at a time may use it. It must not be copied.
//
// The kind of the queue decides where the units are worked on. On a bound,
// unbound or inline queue they are cut into items, which are waited for. On an
// auto queue the caller works, and workers help as [Situation.Helpers] says.
type Loop struct {
	fn    func(from, to int)
	group Group
	items []*loopItem // made when needed, and kept

	// Of a Run that is divided among caller and helpers.
	units, helpers int
	cancel         <-chan struct{}
	next           atomic.Int64 // the first unit that nobody has taken; more than units if the rest is left undone

	queue   *Queue // that it last ran on
	callers *callers
	cpu     int // where it last saw itself run, for counting
	runs    int // since then
}

// A loopItem is a work item that does some units or, as a helper, takes steps
// until none are left.
type loopItem struct {
	Work
	from, to int
}

// Init sets the function, which works on the units from, inclusive, to to,
// exclusive. Several goroutines call it at once, for different units.
func (l *Loop) Init(fn func(from, to int)) { l.fn = fn }

// Run works on n units, numbered from 0, and returns when all are done, or after
// cancel was closed; nil is never. perItem is how many of them make an item, where
// the queue cuts them into such; work is how much of the caller's time others could
// save, which is what all units take on one CPU less what it costs to bring their
// data to another. Run allocates nothing once the Loop has as many items as it takes.
//
// Its error is nil if all units are done, the *PanicError of the first call that
// panicked, or ErrCanceled. After an error some units may not be done, but in
// every case none is worked on any more, nor will be: what had begun when cancel
// was closed, an item or a step, has ended, and the rest is taken back.
//
// The queue must not be closed before Run returns.
func (l *Loop) Run(q *Queue, n, perItem int, work time.Duration, cancel <-chan struct{}) error {
	if q.attrs.Kind == Auto && n > 0 {
		return l.share(q, n, perItem, work, cancel)
	}
	stopped := l.start(q, n, perItem, cancel)
	err := l.group.WaitContext(cancel)
	if err == nil && stopped {
		err = ErrCanceled
	}
	return err
}

// Start is the first half of Run where the caller has no part in the work, which is
// so on every queue that is not Auto, and then on that, too: it queues the items,
// on the CPU that it is called on. Wait, which another goroutine may call, is the
// second half.
func (l *Loop) Start(q *Queue, n, perItem int) { l.start(q, n, perItem, nil) }

// start queues the items until cancel is closed, and reports whether it was.
func (l *Loop) start(q *Queue, n, perItem int, cancel <-chan struct{}) (stopped bool) {
	for k := 0; k*perItem < n; k++ {
		if isClosed(cancel) {
			return true // on an inline queue the items so far have run
		}
		w := l.item(k)
		w.from, w.to = k*perItem, min(n, (k+1)*perItem)
		l.group.Queue(q, &w.Work)
	}
	return false
}

// isClosed reports whether a channel that nobody sends to is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// StartBy queues an item that may call Start, or not. Wait waits for the item, and for
// what it has started.
func (l *Loop) StartBy(q *Queue, w *Work) { l.group.Queue(q, w) }

// Wait returns when all that was started is done, with the error of Run.
func (l *Loop) Wait() error { return l.group.Wait() }

// item returns the item of a number, which is at most one more than there are.
func (l *Loop) item(k int) *loopItem {
	if k == len(l.items) {
		w := new(loopItem)
		w.Init(func(*Work) {
			if w.to == 0 {
				l.takeSteps()
			} else {
				l.fn(w.from, w.to)
			}
		})
		l.items = append(l.items, w)
	}
	return l.items[k]
}

// share is Run on an auto queue.
func (l *Loop) share(q *Queue, n, perItem int, work time.Duration, cancel <-chan struct{}) error {
	if isClosed(cancel) {
		return ErrCanceled
	}
	if l.queue != q {
		l.queue, l.callers, l.runs = q, q.nextCallers(), 0
	}
	l.callers.working.Add(1)
	defer l.callers.working.Add(-1)
	l.count(q)
	helpers := q.helpers(work)
	if helpers == 0 {
		return attempt(func() error { return l.alone(n, perItem, cancel) })
	}
	l.units, l.helpers, l.cancel = n, helpers, cancel
	l.next.Store(0)
	for k := range helpers {
		w := l.item(k)
		w.from, w.to = 0, 0
		l.group.Queue(q, &w.Work)
	}
	q.machine.LeaveNext()
	err := attempt(func() error { l.takeSteps(); return nil })
	l.group.takeBack()
	if failure := l.group.Wait(); err == nil {
		err = failure
	}
	if err == nil && l.next.Load() > int64(n) {
		err = ErrCanceled
	}
	return err
}

// alone works on all units: at once, or as many at a time as make an item if it has
// to look at cancel.
func (l *Loop) alone(n, perItem int, cancel <-chan struct{}) error {
	if cancel == nil {
		perItem = n
	}
	for from := 0; from < n; from += perItem {
		if isClosed(cancel) {
			return ErrCanceled
		}
		l.fn(from, min(n, from+perItem))
	}
	return nil
}

// runsOnCPU is how many times a Loop is taken to run on the CPU where it ran
// once, as asking takes longer than a short run. It often does: a sync.Pool, for
// one, has its objects by CPU.
const runsOnCPU = 16

// count counts what the caller does as an item.
func (l *Loop) count(q *Queue) {
	if l.runs%runsOnCPU == 0 {
		l.cpu = q.machine.CurrentCPU()
	}
	l.runs++
	n := q.counter(l.cpu)
	n.executed.Add(1)
	n.inline.Add(1)
}

// takeSteps works on units until none is left that nobody has taken. If it
// panics, or the Run is canceled, the rest is left undone by everybody.
func (l *Loop) takeSteps() {
	defer l.leaveRest()
	for !isClosed(l.cancel) {
		from := int(l.next.Load())
		if from >= l.units {
			return
		}
		to := from + Step(l.units, l.units-from, l.helpers)
		if l.next.CompareAndSwap(int64(from), int64(to)) {
			l.fn(from, to)
		}
	}
}

// leaveRest takes the units that nobody has taken, if there are any.
func (l *Loop) leaveRest() {
	for {
		from := l.next.Load()
		if from >= int64(l.units) || l.next.CompareAndSwap(from, int64(l.units)+1) {
			return
		}
	}
}

// attempt calls f and returns its error, or its panic as an item's is.
func attempt(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}

// callers counts the goroutines that work in a Loop themselves. A queue has one
// for each CPU, so that counting, which every Run does, is mostly done where
// nobody else counts.
type callers struct {
	working atomic.Int64
	_       [120]byte
}

// nextCallers returns each of them in turn.
func (q *Queue) nextCallers() *callers {
	return &q.callers[q.callersUsed.Add(1)%uint64(len(q.callers))]
}

// helpers returns how many workers should help a caller, who is counted already.
func (q *Queue) helpers(work time.Duration) int {
	if q.cpus == 1 || work < leastWork*minHandOver {
		return 0
	}
	s := Situation{Work: work, HandOver: q.handOver(), CPUs: q.cpus}
	if work < leastWork*s.HandOver {
		return 0 // and who else works need not be looked at
	}
	s.Workers = q.plan.workers() - int(q.unused.Load())
	s.Callers = -1
	for i := range q.callers {
		s.Callers += int(q.callers[i].working.Load())
	}
	return s.Helpers()
}
