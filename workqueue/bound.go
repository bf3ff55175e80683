package workqueue

// boundPools makes a pool with one worker, pinned, for each CPU. Nobody steals:
// that an item runs where it was queued is what a bound queue is for.
func boundPools(cpus []int) []poolPlan {
	var pools []poolPlan
	for _, cpu := range cpus {
		pools = append(pools, poolPlan{cpus: []int{cpu}, workers: 1, pin: []int{cpu}})
	}
	return pools
}

// inlinePools makes a pool without workers for each CPU of the machine. It only
// counts the items that run there, for Flush and Close.
func inlinePools(t Topology) []poolPlan {
	var pools []poolPlan
	for _, cpu := range t.CPUs() {
		pools = append(pools, poolPlan{cpus: []int{cpu}})
	}
	return pools
}
