package simulate

import (
	"time"

	"encfs/workqueue"
)

// Costs are what a machine takes for what is not anybody's work. The zero value is a
// machine on which all that takes no time, and CPUs never change between threads that
// could go on.
type Costs struct {
	Wake   time.Duration // from when an idle CPU is woken until it runs a thread
	Waker  time.Duration // of who wakes an idle CPU
	Switch time.Duration // of a CPU that goes over to another thread

	// SwitchGoroutine is Switch to a goroutine that the thread before has woken, and
	// SwitchPinned that to a thread of workqueue.Machine.StartThread, for which the Go
	// runtime has to hand over what it runs goroutines with.
	SwitchGoroutine, SwitchPinned time.Duration

	// Migrate is what a thread takes longer on a CPU that is not the one that it ran on
	// before, by how far that is away, as workqueue.Topology.Distance counts.
	Migrate [workqueue.MaxDistance + 1]time.Duration

	// Slice is how long a thread runs while others wait for its CPU; 0 is without
	// limit. As in Linux's EEVDF scheduler, who comes back from sleep waits for the end
	// of it, too.
	Slice time.Duration

	// Sibling is how fast a CPU is while another thread of its core is busy, of 1.
	// 0 stands for 1.
	Sibling float64

	// Contention is by which part everything takes longer on a CPU while another one of
	// its cache is busy, of 1: they share the cache, the way to memory and, in virtual
	// machines, more. It does not depend on how many are.
	Contention float64
}
