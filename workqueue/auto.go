package workqueue

import "time"

// A Situation is what the choice of an auto queue depends on, when it is asked to
// do some work.
type Situation struct {
	Work     time.Duration // of the caller that others could take over, see Loop.Run
	HandOver time.Duration // from queueing an item until a worker that slept runs it
	CPUs     int           // that the queue may use at a time
	Workers  int           // that run items or are about to
	Callers  int           // other goroutines that work themselves
}

// Helpers returns how many workers should help the caller: none if the work is
// short or the CPUs have enough to do, and at most as many as CPUs are idle
// besides that of the caller. It depends on nothing but s, so that a model of a
// machine can ask it as well.
//
// One hand-over is lost, to the caller who wakes workers and in the end waits for
// the last, and of the rest the part of each is at least as long as another. With
// less, most of the work would be done by the time the helper comes. Items that
// wait for a worker are not in s: where some do, all workers are busy.
//
// The caller works meanwhile, and takes back what no worker has begun by the
// time it is done. So what is wrong in the situation costs a hand-over, not the
// time until some worker is free.
func (s Situation) Helpers() int {
	if s.Work < leastWork*s.HandOver {
		return 0
	}
	parts := s.CPUs
	if s.HandOver > 0 {
		parts = int(min(s.Work/s.HandOver-1, time.Duration(parts)))
	}
	idle := s.CPUs - 1 - s.Workers - s.Callers
	return max(0, min(idle, parts-1))
}

// leastWork is how many hand-overs the work takes at least that is divided: one
// that is lost, and two parts.
const leastWork = 3

// leastSteps is how many steps the part of each has at least if all are as short
// as they get.
const leastSteps = 16

// Step returns how many units whoever is free takes next, of left units, at least
// 1, that nobody has taken of n. Half of an even share of what is left makes few
// steps, and they get shorter towards the end, so that all are done at nearly the
// same time however late a helper came.
func Step(n, left, helpers int) int {
	parts := helpers + 1
	return min(left, max(1, left/(2*parts), n/(leastSteps*parts)))
}
