package workqueue

import "time"

// A Machine is what a queue needs to know of a system and asks of it. [New] makes
// queues for the machine that the process runs on. [NewOn] takes another one, such as
// a model with a clock of its own: all that a queue decides, it decides there as
// it does here, since nothing in this package asks the system in another way.
//
// Functions may be called from several goroutines at once. None of them is nil.
type Machine struct {
	Topology   Topology   // of the CPUs that the process may use
	CurrentCPU func() int // the CPU on which the caller runs, one of the topology

	// Now returns the time since some moment. It never becomes less.
	Now func() time.Duration

	// Start calls f in a goroutine; StartThread in one that has a thread of its own.
	// Neither waits for it.
	Start, StartThread func(f func())

	// Pin and Renice change the thread that they are called on, which is one of
	// StartThread.
	Pin    func(cpus []int) error
	Renice func(nice int) error

	// NewSleeper returns a place where a goroutine can sleep.
	NewSleeper func() Sleeper

	// LeaveNext lets another CPU take the goroutine that the caller has woken last,
	// at once. Without, it may be left to the caller's own CPU, as mostly a waker
	// is about to sleep.
	LeaveNext func()

	// HandOver returns how long it mostly takes until a goroutine that sleeps runs on
	// another CPU, from when it is woken by one that goes on working. A queue asks
	// once.
	HandOver func() time.Duration
}

// A Sleeper is where one goroutine sleeps until others wake it.
type Sleeper interface {
	// Sleep returns true once Wake was called, or false if cancel could be received
	// from before. A nil channel cannot. A Wake before Sleep counts.
	Sleep(cancel <-chan struct{}) (woken bool)

	// Wake lets Sleep return once. It is not called again before that has.
	Wake()
}

// A sleeper is the Sleeper of goroutines.
type sleeper chan struct{}

func newSleeper() Sleeper { return make(sleeper, 1) }

func (s sleeper) Sleep(cancel <-chan struct{}) bool {
	if cancel == nil {
		<-s
		return true
	}
	select {
	case <-s:
		return true
	case <-cancel:
		return false
	}
}

func (s sleeper) Wake() { s <- struct{}{} }

// stopwatch returns a Machine's Now that counts from this moment.
func stopwatch() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

func startGoroutine(f func()) { go f() }
