package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"encfs/workqueue"
)

// A World is a machine with a clock of its own. It is used by one goroutine, and from
// the threads that run in it.
type World struct {
	clock
	costs    Costs
	topology workqueue.Topology
	cpus     []*cpu // by number, which are 0 and up

	current *Thread // that executes at this moment
	spinner *cpu    // that was woken to look for goroutines, see World.spread
	waiting int     // threads that are ready
	loose   int     // goroutines, of these, that any CPU may take
	alive   int     // threads that have not ended
	threads int     // that were started

	ran func(t *Thread, cpu int, from, to time.Duration) // nil except in tests
}

// New returns a World in which it is 0 o'clock, whose CPUs are numbered from 0.
func New(t workqueue.Topology, c Costs) *World {
	if c.Sibling == 0 {
		c.Sibling = 1
	}
	w := &World{topology: t, costs: c}
	for i, p := range t {
		if p.CPU != i {
			panic("simulate: CPUs are not numbered from 0")
		}
		w.cpus = append(w.cpus, &cpu{world: w, number: i})
	}
	caches := map[int]*cache{}
	for _, c := range w.cpus {
		c.link(w)
		number := t[c.number].Cache
		if caches[number] == nil {
			caches[number] = &cache{}
		}
		c.cache = caches[number]
		c.cache.cpus = append(c.cache.cpus, c)
	}
	return w
}

// link finds the CPUs around this one.
func (c *cpu) link(w *World) {
	c.distance = make([]uint8, len(w.cpus))
	for i := range w.cpus {
		c.distance[i] = uint8(w.topology.Distance(c.number, i))
	}
	c.near = slices.Clone(w.cpus)
	// Among equals each begins with the next one, as pools that steal do.
	n := len(w.cpus)
	turn := func(o *cpu) int { return (o.number - c.number + n) % n }
	slices.SortFunc(c.near, func(a, b *cpu) int {
		return cmp.Or(cmp.Compare(c.distance[a.number], c.distance[b.number]), cmp.Compare(turn(a), turn(b)))
	})
	const sameCore = 1
	for _, o := range c.near[1:] {
		if c.distance[o.number] <= sameCore {
			c.siblings = append(c.siblings, o)
		}
	}
}

// Now returns the time.
func (w *World) Now() time.Duration { return w.now }

// Current returns the thread that executes, nil if none does.
func (w *World) Current() *Thread { return w.current }

// Run lets time go by until nothing is left to happen. All threads must have ended
// then: if some sleep for ever, Run panics.
func (w *World) Run() {
	for w.next() {
	}
	if w.alive > 0 {
		panic(fmt.Sprintf("simulate: %d threads sleep for ever", w.alive))
	}
}

// Machine returns the machine of the World. Its functions are for threads of it.
func (w *World) Machine(handOver time.Duration) workqueue.Machine {
	return workqueue.Machine{
		Topology:    w.topology,
		CurrentCPU:  func() int { return w.current.cpu.number },
		Now:         w.Now,
		Start:       func(f func()) { w.start(goroutine, true, func(*Thread) { f() }) },
		StartThread: func(f func()) { w.start(pinned, false, func(*Thread) { f() }) },
		Pin:         func(cpus []int) error { w.current.pin(cpus); return nil },
		Renice:      func(int) error { return nil },
		NewSleeper:  func() workqueue.Sleeper { return &sleeper{world: w} },
		LeaveNext:   func() {}, // any goroutine that is ready may be taken here
		HandOver:    func() time.Duration { return handOver },
	}
}
