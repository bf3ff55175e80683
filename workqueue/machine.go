package workqueue

import "time"

// A machine is what a queue needs to know of a system and asks of it.
type machine struct {
	topology   topology // of the CPUs that the process may use
	currentCPU func() int

	// startThread calls f in a goroutine that has a thread of its own; pin and
	// renice change the thread that they are called on.
	startThread func(f func())
	pin         func(cpus []int) error
	renice      func(nice int) error

	handOver func() time.Duration // see measureHandOver
}
