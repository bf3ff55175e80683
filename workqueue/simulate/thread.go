package simulate

import (
	"iter"
	"time"

	"encfs/workqueue"
)

// A Thread is something that runs on the CPUs of a World. Its methods are called by
// what it runs, and by nobody else.
type Thread struct {
	world  *World
	sort   sort
	number int

	// The code of the thread is a coroutine, which resume continues until it asks for
	// something.
	resume func() (request, bool)
	ask    func(request) bool

	cpu     *cpu   // that it runs on, waits for or ran on last; nil at first
	allowed []bool // CPUs by number; nil for all
	loose   bool   // it is ready and may be taken by another CPU, see World.spread
	need    time.Duration

	// used is how much of its CPU the thread has had while it runs or is ready, to be
	// compared with others of that CPU. Otherwise it is how much more than the CPU's base.
	used time.Duration
}

// A sort says how a thread is woken.
type sort uint8

const (
	ordinary  sort = iota // by the kernel: at once, where a CPU is idle
	goroutine             // by the Go runtime: it is for the waker's CPU, unless another takes it
	pinned                // by both: a goroutine with a thread of its own
)

// A request is what a thread's code wants.
type request uint8

const (
	wantTime  request = iota // to use a CPU for Thread.need
	wantSleep                // to be woken
	wantMove                 // another CPU
)

// StartThread starts a thread, which runs f. Here and whenever it wakes, the kernel
// places it on an idle CPU if there is one.
func (w *World) StartThread(f func(*Thread)) { w.start(ordinary, false, f) }

// StartGoroutine starts a goroutine, which runs f, on a thread that the kernel places. In
// a Sleeper of the Machine it is woken by the Go runtime, which leaves it to the CPU of
// the waker, where it runs when that one sleeps, and wakes an idle CPU that may take it
// before.
func (w *World) StartGoroutine(f func(*Thread)) { w.start(goroutine, false, f) }

func (w *World) start(s sort, lazy bool, f func(*Thread)) {
	t := &Thread{world: w, sort: s, number: w.threads}
	w.threads++
	w.alive++
	t.resume, _ = iter.Pull(func(ask func(request) bool) {
		t.ask = ask
		f(t)
	})
	w.wake(t, lazy)
}

// Use uses a CPU for a time.
func (t *Thread) Use(d time.Duration) {
	if d > 0 {
		t.need += d
		t.ask(wantTime)
	}
}

// Pause sleeps for a time, as one does who waits for a device.
func (t *Thread) Pause(d time.Duration) {
	t.world.at(t.world.now+d, t, 0)
	t.ask(wantSleep)
}

// due is the end of a Pause.
func (t *Thread) due(uint64) { t.world.wake(t, false) }

// CPU returns the number of the CPU on which the thread runs.
func (t *Thread) CPU() int { return t.cpu.number }

// pin restricts the thread to some CPUs, and takes it there.
func (t *Thread) pin(cpus []int) {
	t.allowed = make([]bool, len(t.world.cpus))
	for _, c := range cpus {
		t.allowed[c] = true
	}
	if !t.mayRun(t.cpu) {
		t.ask(wantMove)
	}
}

func (t *Thread) mayRun(c *cpu) bool { return t.allowed == nil || t.allowed[c.number] }

// A sleeper is where a thread sleeps.
type sleeper struct {
	world  *World
	kernel bool    // it is the kernel who wakes
	thread *Thread // that sleeps
	woken  bool    // before it sleeps
}

// NewSleeper returns a Sleeper in which any thread is woken by the kernel, as it is when
// a system call of it goes on. Nothing cancels a sleep.
func (w *World) NewSleeper() workqueue.Sleeper { return &sleeper{world: w, kernel: true} }

func (s *sleeper) Sleep(<-chan struct{}) bool {
	if !s.woken {
		s.thread = s.world.current
		s.thread.ask(wantSleep)
	}
	s.woken = false
	return true
}

// Wake may be called by a thread, which it can take some time, or when none executes.
func (s *sleeper) Wake() {
	s.woken = true
	t := s.thread
	if t == nil {
		return
	}
	s.thread = nil
	waker := s.world.current
	if s.world.wake(t, !s.kernel && t.sort == goroutine) && waker != nil {
		waker.Use(s.world.costs.Waker)
	}
}
