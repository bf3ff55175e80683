// Package simulate runs work queues on a machine that is not there.
//
// A [World] has CPUs, threads that run on them, and a clock that jumps from one event
// to the next. Its [World.Machine] is one for workqueue.NewOn: the queue, its workers
// and all that they decide are those of package workqueue itself, with threads of the
// World in place of goroutines. Nothing of a queue is written a second time here.
//
// What is a model is the rest of the system. A thread says what it does ([Thread.Use],
// [Thread.Pause], and sleeping in a Sleeper), and the World says on which CPU it
// does that and when: run queues with a fair share for each thread, time slices,
// wake-ups that take their time, caches that a thread leaves behind. How long all
// that takes is in [Costs], for which a user measures a real machine.
//
// A World is a discrete-event simulation. Exactly one thread executes at any moment,
// and what it executes takes no time on the clock but what it asks for, so
// that a run depends on nothing but its input.
package simulate
