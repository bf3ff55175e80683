package workqueue

import "slices"

// A plan is the policy of a queue, as a table: which pool takes an item, who
// runs it, and who may steal it. It is computed from the topology once and knows
// neither threads nor time.
type plan struct {
	pools []poolPlan
	home  []int // index of the pool that takes an item, by the CPU that queues it
}

// A poolPlan says what one pool does.
type poolPlan struct {
	cpus    []int // CPUs of the pool, ascending
	workers int   // how many there may be; 0 where the caller runs the item
	pin     []int // CPUs that the workers are pinned to; nil for not pinned
	steal   []int // pools whose workers may steal from this one, and it from them, nearest first
}

// homeOf returns the index of the pool for an item that is queued on the CPU,
// which may be one that was not there when the plan was made.
func (p *plan) homeOf(cpu int) int { return p.home[cpu%len(p.home)] }

// workers returns how many workers all pools may have.
func (p *plan) workers() int {
	n := 0
	for _, pool := range p.pools {
		n += pool.workers
	}
	return n
}

// newPlan makes the plan for checked attributes; cpus are those of the queue, a
// part of those of the topology.
func newPlan(a Attrs, t Topology, cpus []int) plan {
	var pools []poolPlan
	switch a.Kind {
	case Bound:
		pools = boundPools(cpus)
	case Unbound, Auto:
		pools = unboundPools(a, t, cpus)
	case Inline:
		pools = inlinePools(t)
	}
	return plan{pools: pools, home: homes(pools, t)}
}

// homes gives each CPU of the topology the pool that has it. Others have the
// pool of the nearest CPU that is in a pool; CPUs that are equally near take turns.
// Numbers that are no CPU's have the first pool.
func homes(pools []poolPlan, t Topology) []int {
	poolOf := make(map[int]int)
	var served []int
	for i, pool := range pools {
		for _, cpu := range pool.cpus {
			poolOf[cpu] = i
			served = append(served, cpu)
		}
	}
	all := t.CPUs()
	home := make([]int, all[len(all)-1]+1)
	for i, cpu := range all {
		home[cpu] = poolOf[t.nearest(cpu, i, served)]
	}
	return home
}

// stealNear lets all pools steal from each other, those whose CPUs are near
// first. Among equals each begins with the next one, so that thieves spread.
func stealNear(pools []poolPlan, t Topology) {
	for i := range pools {
		var at [MaxDistance + 1][]int
		for n := 1; n < len(pools); n++ {
			other := (i + n) % len(pools)
			d := t.Distance(pools[i].cpus[0], pools[other].cpus[0])
			at[d] = append(at[d], other)
		}
		pools[i].steal = slices.Concat(at[:]...)
	}
}
