package workqueue

// unboundPools makes a pool for each group of CPUs of the affinity scope, with
// as many workers as CPUs, or max_active if that is fewer.
//
// The workers of a strict queue are pinned to their group. Others start where
// the item was queued as far as the Go scheduler wakes a goroutine near its
// waker, and may be moved over all CPUs of the queue. To pin a worker to all CPUs
// of the process would change nothing, but cost it a thread of its own and the
// slower wake-up of such a goroutine.
func unboundPools(a Attrs, t Topology, cpus []int) []poolPlan {
	var pools []poolPlan
	for _, group := range t.groups(cpus, a.Scope) {
		pool := poolPlan{cpus: group, workers: len(group)}
		if a.MaxActive > 0 {
			pool.workers = min(pool.workers, a.MaxActive)
		}
		reach := cpus
		if a.Strict {
			reach = group
		}
		if len(reach) < len(t) {
			pool.pin = reach
		}
		pools = append(pools, pool)
	}
	if !a.Strict {
		stealNear(pools, t)
	}
	return pools
}
