package workqueue

import (
	"cmp"
	"slices"
)

// A Topology says which CPUs are close to each other. It has the CPUs of a
// process, in ascending order, at least one.
type Topology []Place

// A Place is where a CPU is. Groups are named by a number that their CPUs
// have in common; it means nothing else.
type Place struct {
	CPU   int
	Core  int
	Cache int // last level cache
	Node  int // memory node
}

// CPUs returns the numbers of the CPUs, ascending.
func (t Topology) CPUs() []int {
	var cpus []int
	for _, p := range t {
		cpus = append(cpus, p.CPU)
	}
	return cpus
}

// place returns where the CPU is; it must be one of the topology.
func (t Topology) place(cpu int) Place {
	i, ok := slices.BinarySearchFunc(t, cpu, func(p Place, cpu int) int { return cmp.Compare(p.CPU, cpu) })
	if !ok {
		panic("workqueue: CPU is not in the topology")
	}
	return t[i]
}

// group returns the group of the place for the scope.
func (p Place) group(s Scope) int {
	switch s {
	case ScopeCPU:
		return p.CPU
	case ScopeSMT:
		return p.Core
	case ScopeCache:
		return p.Cache
	case ScopeNUMA:
		return p.Node
	default:
		return 0
	}
}

// groups divides some CPUs of the topology, which are in ascending order, into
// those that share the scope. Groups are in the order of their first CPU.
func (t Topology) groups(cpus []int, s Scope) [][]int {
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

// MaxDistance is the distance of CPUs that have nothing in common.
const MaxDistance = 4

// Distance returns how far two CPUs of the topology are from each other: the number of
// scopes, from the smallest, that they do not share. It is 0 for a CPU and itself, 1
// for threads of a core, then 2 for CPUs that share a cache, and 3 a memory node.
func (t Topology) Distance(a, b int) int {
	pa, pb := t.place(a), t.place(b)
	for d, s := range [MaxDistance]Scope{ScopeCPU, ScopeSMT, ScopeCache, ScopeNUMA} {
		if pa.group(s) == pb.group(s) {
			return d
		}
	}
	return MaxDistance
}

// nearest returns the one among the candidates that is nearest to the CPU.
// turn chooses among several that are.
func (t Topology) nearest(cpu, turn int, candidates []int) int {
	best := t.Distance(cpu, candidates[0])
	var near []int
	for _, c := range candidates {
		d := t.Distance(cpu, c)
		if d < best {
			best, near = d, nil
		}
		if d == best {
			near = append(near, c)
		}
	}
	return near[turn%len(near)]
}
