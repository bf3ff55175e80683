// Package workqueue runs functions on worker threads, with the vocabulary and
// the rules of Linux's workqueues (Documentation/core-api/workqueue.rst).
//
// A work item ([Work]) is a function with a place in a list. A queue ([Queue])
// hands items to worker pools. A bound queue has a pool for each CPU, and an
// item runs on the CPU that queued it. An unbound queue has a pool for each
// affinity scope ([Scope]), a group of CPUs that share a core, a cache or a
// memory node; an item runs on any worker of its scope, or on an idle worker of
// another scope unless the queue is strict. An inline queue has no workers and
// runs the item at once in the caller. max_active limits how many items of the
// whole queue run at a time. A [Group] waits for several items.
//
// An auto queue is one that none of the three is better than, for work that can
// be divided: a [Loop] does it where it is asked for, with the help of workers
// where that is faster.
//
// [Queue.Queue] hands an item over and does not wait for it. [Work.Wait] and
// [Group.Wait] wait for items, [Queue.Flush] for all that were queued before,
// and [Queue.Cancel] takes one back that has not started. A bound queue on two
// CPUs, a goroutine on CPU 0 that queues A, B and C and one on CPU 1 that
// queues D, with a max_active of 2 and then of 1:
//
//	       max_active 2             max_active 1
//	CPU 0  A A A B B C C C          A A A . . . . B B C C C
//	CPU 1  D D D D                  . . . D D D D
//
// Items of one pool start in the order in which they were queued. Where
// max_active is the bottleneck, the pools that have items take turns.
//
// Which pool takes an item, and who may steal it, is a table that bound.go and
// unbound.go compute from the topology of the machine (plan.go); pool.go and
// worker.go are the lists and threads that follow it. How many workers help is
// decided in auto.go, from numbers alone.
package workqueue
