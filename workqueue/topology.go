package workqueue

import (
	"cmp"
	"slices"
)

// A topology says which CPUs are close to each other. It has the CPUs of the
// process, in ascending order, at least one.
type topology []cpuPlace

// A cpuPlace is where a CPU is. Groups are named by a number that their CPUs
// have in common; it means nothing else.
type cpuPlace struct {
	cpu   int
	core  int
	cache int // last level cache
	node  int // memory node
}

// numbers returns the numbers of the CPUs, ascending.
func (t topology) numbers() []int {
	var cpus []int
	for _, p := range t {
		cpus = append(cpus, p.cpu)
	}
	return cpus
}

// place returns where the CPU is; it must be one of the topology.
func (t topology) place(cpu int) cpuPlace {
	i, ok := slices.BinarySearchFunc(t, cpu, func(p cpuPlace, cpu int) int { return cmp.Compare(p.cpu, cpu) })
	if !ok {
		panic("workqueue: CPU is not in the topology")
	}
	return t[i]
}

// group returns the group of the place for the scope.
func (p cpuPlace) group(s Scope) int {
	switch s {
	case ScopeCPU:
		return p.cpu
	case ScopeSMT:
		return p.core
	case ScopeCache:
		return p.cache
	case ScopeNUMA:
		return p.node
	default:
		return 0
	}
}

// groups divides some CPUs of the topology, which are in ascending order, into
// those that share the scope. Groups are in the order of their first CPU.
func (t topology) groups(cpus []int, s Scope) [][]int {
	var groups [][]int
	index := make(map[int]int)
	for _, cpu := range cpus {
		g := t.place(cpu).group(s)
		i, ok := index[g]
		if !ok {
			i = len(groups)
			index[g] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], cpu)
	}
	return groups
}

// maxDistance is the distance of CPUs that have nothing in common.
const maxDistance = 4

// distance is how far two CPUs are from each other: the number of scopes, from
// the smallest, that they do not share.
func (t topology) distance(a, b int) int {
	pa, pb := t.place(a), t.place(b)
	for d, s := range [maxDistance]Scope{ScopeCPU, ScopeSMT, ScopeCache, ScopeNUMA} {
		if pa.group(s) == pb.group(s) {
			return d
		}
	}
	return maxDistance
}

// nearest returns the one among the candidates that is nearest to the CPU.
// turn chooses among several that are.
func (t topology) nearest(cpu, turn int, candidates []int) int {
	best := t.distance(cpu, candidates[0])
	var near []int
	for _, c := range candidates {
		d := t.distance(cpu, c)
		if d < best {
			best, near = d, nil
		}
		if d == best {
			near = append(near, c)
		}
	}
	return near[turn%len(near)]
}
