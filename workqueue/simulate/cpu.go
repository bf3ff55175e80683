package simulate

import (
	"math"
	"slices"
	"time"
)

// A cpu runs one thread at a time.
//
// Threads that are ready share a CPU as fair schedulers do it: the one that has had the
// least of it is next, and who comes back from sleep is credited with a slice at most.
type cpu struct {
	world    *World
	number   int
	near     []*cpu // all, this one first, then the others by distance
	siblings []*cpu // other threads of the core
	cache    *cache
	distance []uint8 // to each CPU

	running *Thread
	ready   []*Thread // that wait for it
	next    *Thread   // of these, a goroutine that was woken here last
	rising  bool      // it was idle and has been woken
	busy    bool      // it is counted so in its cache
	alarm   uint64    // the one that counts

	last     *Thread       // that ran
	since    time.Duration // until when what the running thread used is counted
	speed    float64       // since then
	sliceEnd time.Duration
	base     time.Duration // what a thread has used that was always ready; never less than before
}

// A cache is the CPUs that share one.
type cache struct {
	cpus []*cpu
	busy int // of these
}

func (c *cpu) idle() bool { return c.running == nil && !c.rising }

// due is when the CPU is awake, or the running thread has what it needs, or its slice
// is over.
func (c *cpu) due(alarm uint64) {
	if alarm != c.alarm {
		return
	}
	if c.rising {
		c.rising = false
		c.arrive()
		return
	}
	c.settle()
	switch t := c.running; {
	case t.need <= 0:
		c.execute(t)
	case len(c.ready) > 0:
		c.enqueue(c.stop())
		c.dispatch(false)
	default:
		c.arm()
	}
}

// arrive is when a CPU is awake.
func (c *cpu) arrive() {
	w := c.world
	spun := w.spinner == c
	if spun {
		w.spinner = nil
	}
	c.dispatch(false)
	if spun && c.running != nil && w.spread(c) {
		c.running.need += w.costs.Waker
		c.arm()
	}
}

// execute continues the code of the running thread until it wants time, or something
// else than this CPU.
func (c *cpu) execute(t *Thread) {
	w := c.world
	for {
		t.need = 0
		w.current = t
		want, alive := t.resume()
		w.current = nil
		switch {
		case alive && want == wantTime && t.need <= 0:
			continue
		case alive && want == wantTime:
			c.arm()
			return
		}
		c.stop()
		switch {
		case !alive:
			w.alive--
		case want == wantMove:
			w.wake(t, false)
		}
		c.dispatch(true)
		return
	}
}

// dispatch lets a thread run on a CPU on which none does, if there is one that may. With
// handOver set it follows on one that has gone to sleep, and the time slice of that goes
// to the goroutine that it woke last.
func (c *cpu) dispatch(handOver bool) {
	if next := c.next; next != nil && handOver {
		c.take(slices.Index(c.ready, next))
		c.run(next, c.world.costs.SwitchGoroutine, c.sliceEnd)
		return
	}
	t := c.first()
	if t == nil {
		t = c.steal()
	}
	if t == nil {
		c.alarm++ // what was set no longer counts
		c.setBusy(false)
		c.coreChanged()
		return
	}
	cost := c.world.costs.Switch
	switch {
	case t == c.last && (t.sort != pinned || t.need > 0):
		cost = 0
	case t.sort == pinned && t.need <= 0: // nor was it interrupted
		cost = c.world.costs.SwitchPinned
	}
	c.run(t, cost, c.world.now+c.world.costs.Slice)
}

// run lets a thread, which is in no list, run.
func (c *cpu) run(t *Thread, cost, sliceEnd time.Duration) {
	if t.cpu != nil {
		cost += c.world.costs.Migrate[c.distance[t.cpu.number]]
	}
	t.cpu = c
	t.need += cost
	t.used += c.base
	c.running, c.last = t, t
	c.since, c.sliceEnd = c.world.now, sliceEnd
	c.setBusy(true)
	c.coreChanged()
	c.arm()
}

// stop takes the running thread off the CPU.
func (c *cpu) stop() *Thread {
	c.settle()
	t := c.running
	t.used -= c.base
	c.running = nil
	return t
}

// enqueue lets a thread wait for the CPU.
func (c *cpu) enqueue(t *Thread) {
	slice := c.world.costs.Slice
	t.used = c.base + min(max(t.used, -slice), slice)
	c.ready = append(c.ready, t)
	c.world.waiting++
}

// take takes a thread from those that wait, by its place among them.
func (c *cpu) take(i int) *Thread {
	t := c.ready[i]
	c.ready = slices.Delete(c.ready, i, i+1)
	c.world.waiting--
	t.used -= c.base
	if t.loose {
		t.loose = false
		c.world.loose--
	}
	if c.next == t {
		c.next = nil
	}
	return t
}

// first takes the thread that has had the least of the CPU, of several that which has
// waited longest; nil if there is none.
func (c *cpu) first() *Thread {
	best := -1
	for i, t := range c.ready {
		if best < 0 || t.used < c.ready[best].used {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return c.take(best)
}

// steal takes a thread that waits for another CPU and may run here, the nearest first;
// nil if there is none.
func (c *cpu) steal() *Thread {
	if c.world.waiting == 0 {
		return nil
	}
	for _, o := range c.near[1:] {
		if o.rising {
			continue // it will take it itself
		}
		for i, t := range o.ready {
			if t.mayRun(c) {
				return o.take(i)
			}
		}
	}
	return nil
}

// settle counts what the running thread has used since that was counted last.
func (c *cpu) settle() {
	t, now := c.running, c.world.now
	if t == nil || now == c.since {
		return
	}
	passed := now - c.since
	if c.world.ran != nil {
		c.world.ran(t, c.number, c.since, now)
	}
	c.since = now
	t.need -= time.Duration(math.Ceil(float64(passed) * c.speed))
	t.used += passed
	base := t.used
	for _, o := range c.ready {
		base = min(base, o.used)
	}
	c.base = max(c.base, base)
}

// arm sets the alarm for the running thread, if there is one, which has been settled.
func (c *cpu) arm() {
	t := c.running
	if t == nil {
		return
	}
	c.speed = 1
	if slices.ContainsFunc(c.siblings, func(o *cpu) bool { return o.running != nil }) {
		c.speed = c.world.costs.Sibling
	}
	if c.cache.busy > 1 {
		c.speed /= 1 + c.world.costs.Contention
	}
	end := c.world.now + time.Duration(math.Ceil(float64(max(0, t.need))/c.speed))
	if c.world.costs.Slice > 0 && len(c.ready) > 0 {
		end = min(end, max(c.sliceEnd, c.world.now))
	}
	c.alarm++
	c.world.at(end, c, c.alarm)
}

// coreChanged lets the other threads of the core go faster or slower, after this one has
// begun or ended to run.
func (c *cpu) coreChanged() {
	for _, o := range c.siblings {
		o.settle()
		o.arm()
	}
}

// setBusy counts the CPU as one that runs threads, or not. Another one of its cache that
// was or is alone with that goes slower or faster then.
func (c *cpu) setBusy(busy bool) {
	if c.busy == busy {
		return
	}
	c.busy = busy
	if busy {
		c.cache.busy++
	} else {
		c.cache.busy--
	}
	if others := c.cache.busy; busy && others != 2 || !busy && others != 1 {
		return
	}
	for _, o := range c.cache.cpus {
		if o != c && o.busy {
			o.settle()
			o.arm()
		}
	}
}
