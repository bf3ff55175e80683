package simulate

// wake makes a thread ready, and reports whether an idle CPU was woken for it. With lazy
// set the thread is left to the CPU of the waker.
func (w *World) wake(t *Thread, lazy bool) (woke bool) {
	if lazy && w.current != nil {
		c := w.current.cpu
		c.enqueue(t)
		c.next = t
		t.loose = true
		w.loose++
		return w.spread(c)
	}
	c := w.place(t)
	c.enqueue(t)
	if c.idle() {
		c.rise()
		return true
	}
	if c.running != w.current { // which is armed when it wants something
		c.settle()
		c.arm()
	}
	return false
}

// place returns the CPU for a thread that the kernel wakes: the nearest that is idle,
// from where the thread ran last, otherwise the nearest of those with the fewest
// threads.
func (w *World) place(t *Thread) *cpu {
	from := t.cpu
	if from == nil {
		from = w.cpus[0]
		if w.current != nil {
			from = w.current.cpu
		}
	}
	var best *cpu
	for _, c := range from.near {
		switch {
		case !t.mayRun(c):
		case c.idle():
			return c
		case best == nil || c.load() < best.load():
			best = c
		}
	}
	return best
}

// load returns how many threads the CPU has to run.
func (c *cpu) load() int {
	n := len(c.ready)
	if c.running != nil {
		n++
	}
	return n
}

// spread wakes an idle CPU to take a goroutine that is ready, unless one has been woken
// for that and is still looking. One that finds some wakes another: so does the Go
// runtime with its threads. It reports whether it woke one.
func (w *World) spread(from *cpu) bool {
	if w.spinner != nil || w.loose == 0 {
		return false
	}
	for _, c := range from.near {
		if c.idle() {
			w.spinner = c
			c.rise()
			return true
		}
	}
	return false
}

// rise wakes an idle CPU.
func (c *cpu) rise() {
	c.rising = true
	c.alarm++
	c.world.at(c.world.now+c.world.costs.Wake, c, c.alarm)
}
