package simulate

import "time"

// A clock has the time and what is to happen. Events happen in the order of their
// times, and those of one time in the order in which they were set.
type clock struct {
	now    time.Duration
	set    uint64 // events that were
	events []event
}

// An event is a moment that somebody waits for.
type event struct {
	at     time.Duration
	number uint64
	waiter waiter
	alarm  uint64
}

// A waiter is told when an event of his is due. alarm is what he gave to at: one who
// no longer waits for it sees that by it.
type waiter interface{ due(alarm uint64) }

// at sets an event, not before now.
func (c *clock) at(t time.Duration, w waiter, alarm uint64) {
	c.set++
	c.events = append(c.events, event{max(t, c.now), c.set, w, alarm})
	i := len(c.events) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !c.before(i, parent) {
			break
		}
		c.events[i], c.events[parent] = c.events[parent], c.events[i]
		i = parent
	}
}

// next lets the next event happen, and reports whether there was one.
func (c *clock) next() bool {
	if len(c.events) == 0 {
		return false
	}
	e := c.events[0]
	last := len(c.events) - 1
	c.events[0] = c.events[last]
	c.events[last] = event{}
	c.events = c.events[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if c.before(child, least) {
				least = child
			}
		}
		if least == i {
			break
		}
		c.events[i], c.events[least] = c.events[least], c.events[i]
		i = least
	}
	c.now = e.at
	e.waiter.due(e.alarm)
	return true
}

// before reports whether event i, by its place in the heap, is earlier than j.
func (c *clock) before(i, j int) bool {
	a, b := &c.events[i], &c.events[j]
	return a.at < b.at || a.at == b.at && a.number < b.number
}
