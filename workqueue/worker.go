package workqueue

// A worker is a goroutine that runs the items of a pool, or those that it
// steals. It has a thread of its own if that is pinned or reniced.
type worker struct {
	pool   *pool
	wake   Sleeper // where it sleeps, or waits for a token
	next   *worker // in the list in which it sleeps or waits
	fresh  bool    // not started; only who hired it knows it
	cpu    int     // the only one that it runs on, or -1
	token  bool    // it holds one of the limiter's
	leaves bool    // it ended by itself
}

func newWorker(p *pool) *worker {
	return &worker{pool: p, wake: p.queue.machine.NewSleeper(), fresh: true}
}

// awake starts a worker that was hired, or wakes it.
func (w *worker) awake() {
	if w.fresh {
		w.fresh = false
		w.start()
		return
	}
	w.wake.Wake()
}

func (w *worker) start() {
	if w.pool.plan.pin == nil && w.pool.queue.attrs.Nice == 0 {
		w.pool.queue.machine.Start(w.main)
	} else {
		w.pool.queue.machine.StartThread(w.main)
	}
}

// main runs items until the queue is closed and the list empty. If an item ends
// the goroutine, another one carries on.
func (w *worker) main() {
	q := w.pool.queue
	defer func() {
		w.release()
		if w.leaves {
			q.workers.Done()
		} else {
			w.start()
		}
	}()
	w.prepare()
	for {
		item, from := w.find()
		switch {
		case item != nil:
			w.count(item, from != w.pool)
			item.run()
			w.release()
		case w.sleep():
			w.leaves = true
			return
		}
	}
}

// prepare pins and renices the thread. What the system refuses is counted: a
// CPU can leave the process's cpuset at any time, and the items must run still.
func (w *worker) prepare() {
	q := w.pool.queue
	w.cpu = -1
	if cpus := w.pool.plan.pin; cpus != nil {
		if err := q.machine.Pin(cpus); err != nil {
			q.unpinned.Add(1)
		} else if len(cpus) == 1 {
			w.cpu = cpus[0]
		}
	}
	if nice := q.attrs.Nice; nice != 0 {
		if err := q.machine.Renice(nice); err != nil {
			q.notReniced.Add(1)
		}
	}
}

// count counts an item that the worker is going to run.
func (w *worker) count(item *Work, stolen bool) {
	q := w.pool.queue
	cpu := w.cpu
	if cpu < 0 {
		cpu = q.machine.CurrentCPU()
	}
	n := q.counter(cpu)
	n.executed.Add(1)
	n.wait.Record(q.machine.Now() - item.queuedAt)
	if stolen {
		n.stolen.Add(1)
	}
}

// find takes an item that may run now, from its own pool or another. For its
// own it waits until max_active allows it to run, and it takes the item only
// then, so that what has not started can be taken back.
func (w *worker) find() (*Work, *pool) {
	own := w.pool
	if own.length.Load() > 0 {
		w.acquire()
		if item := own.take(); item != nil {
			return item, own
		}
	}
	for _, i := range own.plan.steal {
		other := own.queue.pools[i]
		if other.length.Load() > 0 && (w.token || w.tryAcquire()) {
			if item := other.take(); item != nil {
				return item, other
			}
		}
	}
	w.release()
	return nil, nil
}

// sleep returns when there may be an item, false, or when there will be none,
// true.
func (w *worker) sleep() (end bool) {
	p := w.pool
	p.mu.Lock()
	if p.first != nil || p.closed {
		end = p.first == nil
		p.mu.Unlock()
		return end
	}
	w.next = p.asleep
	p.asleep = w
	p.unused.Add(1)
	p.queue.unused.Add(1)
	p.mu.Unlock()

	// Who adds an item looks for a thief after it has lengthened the list. So
	// either that one sees that this worker sleeps, or this one the item.
	if w.couldSteal() && w.getUp() {
		return false
	}
	w.wake.Sleep(nil)
	return false
}

// getUp undoes falling asleep, unless somebody was quicker and wakes the worker.
func (w *worker) getUp() bool {
	p := w.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	for at := &p.asleep; *at != nil; at = &(*at).next {
		if *at == w {
			*at = w.next
			p.unused.Add(-1)
			p.queue.unused.Add(-1)
			return true
		}
	}
	return false
}

// couldSteal reports whether there is an item to steal and max_active allows it.
func (w *worker) couldSteal() bool {
	q := w.pool.queue
	if q.limiter != nil && q.limiter.free.Load() <= 0 {
		return false
	}
	for _, i := range w.pool.plan.steal {
		if q.pools[i].length.Load() > 0 {
			return true
		}
	}
	return false
}

func (w *worker) acquire() {
	if l := w.pool.queue.limiter; l != nil {
		l.acquire(w)
		w.token = true
	}
}

func (w *worker) tryAcquire() bool {
	if l := w.pool.queue.limiter; l != nil {
		w.token = l.tryAcquire()
		return w.token
	}
	return true
}

func (w *worker) release() {
	if w.token {
		w.token = false
		w.pool.queue.limiter.release()
	}
}
