package workqueue

// unboundPools makes a pool for each group of CPUs of the affinity scope, with
// as many workers as CPUs, or max_active if that is fewer.
//
// The workers of a strict queue are pinned to their group. Others start where
// the item was queued as far as the Go scheduler wakes a goroutine near its
// waker, and may be moved: they are pinned only if the queue has not all the
// CPUs of the process, and then to all that it has.
func unboundPools(a Attrs, t topology, cpus []int) []poolPlan {
	var pin []int
	if len(cpus) < len(t) {
		pin = cpus
	}
	var pools []poolPlan
	for _, group := range t.groups(cpus, a.Scope) {
		pool := poolPlan{cpus: group, workers: len(group), pin: pin}
		if a.MaxActive > 0 {
			pool.workers = min(pool.workers, a.MaxActive)
		}
		if a.Strict {
			pool.pin = group
		}
		pools = append(pools, pool)
	}
	if !a.Strict {
		stealNear(pools, t)
	}
	return pools
}
