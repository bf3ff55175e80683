package workqueue

import (
	"slices"
	"sync/atomic"
	"time"
)

// The hand-over is taken to be within these bounds, whatever is measured: the first
// is that of a CPU that was awake, and more than the last means that the machine
// has other things to do. A virtual machine whose idle CPU is woken through the
// hypervisor has 20 to 40 µs.
const (
	minHandOver = 10 * time.Microsecond
	maxHandOver = 50 * time.Microsecond
)

// handOvers are measured, with a pause after each in which a CPU falls asleep. All
// of it takes less than a millisecond.
const (
	handOvers     = 5
	handOverPause = 100 * time.Microsecond
)

// MeasureHandOver measures, in less than a millisecond, how long it mostly takes until a
// goroutine that sleeps, as an idle worker does, runs on another CPU, from when it is
// woken by one that goes on working. It is what an auto queue reckons with.
func MeasureHandOver() time.Duration {
	wake, ended := make(chan struct{}, 1), make(chan struct{})
	var ran atomic.Bool
	go func() {
		defer close(ended)
		for range wake {
			ran.Store(true)
		}
	}()
	var took []time.Duration
	for range handOvers {
		for start := time.Now(); time.Since(start) < handOverPause; {
		}
		ran.Store(false)
		start := time.Now()
		wake <- struct{}{}
		leaveNext()
		for !ran.Load() && time.Since(start) < maxHandOver {
		}
		took = append(took, time.Since(start))
	}
	close(wake)
	<-ended
	slices.Sort(took)
	return max(minHandOver, min(took[handOvers*3/4], maxHandOver))
}

// leaveNext lets a goroutine that was just woken be taken by another CPU at once.
// It is the one to run next on this CPU, and such a one others leave alone for
// some time (runqgrab in runtime/proc.go), as mostly its waker is about to sleep.
// A caller who goes on working is not; so a goroutine that does nothing takes that
// place.
func leaveNext() { go func() {}() }
