package simulate

import (
	"fmt"
	"strconv"
	"strings"

	"encfs/workqueue"
)

// A Shape is a machine whose parts are all alike, its CPUs numbered in sequence: the
// threads of a core, the cores of a cache, the caches of a memory node.
type Shape struct {
	Caches  int // last level caches
	CPUs    int // that share one of them
	Threads int // of a core
	Nodes   int // memory nodes
}

// maxCPUs is how many CPUs a Shape has at most.
const maxCPUs = 1024

// ParseShape reads caches and CPUs of each, such as 8x8, which threads of a core and
// memory nodes may follow: 16x8,smt=2,numa=2. Each of them is 1 if it is left out.
func ParseShape(text string) (Shape, error) {
	words := strings.Split(text, ",")
	s := Shape{Threads: 1, Nodes: 1}
	caches, cpus, ok := strings.Cut(words[0], "x")
	if !ok || !parse(caches, &s.Caches) || !parse(cpus, &s.CPUs) {
		return s, shapeError(text, "caches and CPUs of each, such as 8x8, come first")
	}
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		field := map[string]*int{"smt": &s.Threads, "numa": &s.Nodes}[name]
		if field == nil || !parse(value, field) {
			return s, shapeError(text, fmt.Sprintf("%q is neither smt=N nor numa=N", word))
		}
	}
	switch {
	case s.Caches*s.CPUs > maxCPUs:
		return s, shapeError(text, fmt.Sprintf("more than %d CPUs", maxCPUs))
	case s.CPUs%s.Threads != 0:
		return s, shapeError(text, "the CPUs of a cache are not whole cores")
	case s.Caches%s.Nodes != 0:
		return s, shapeError(text, "the caches are not the same number for each memory node")
	}
	return s, nil
}

// parse reads a positive number, small enough to multiply two of them.
func parse(text string, n *int) bool {
	v, err := strconv.ParseUint(text, 10, 16)
	*n = int(v)
	return err == nil && v > 0
}

func shapeError(text, why string) error {
	return fmt.Errorf("simulate: topology %q: %s", text, why)
}

// String returns the text that ParseShape reads.
func (s Shape) String() string {
	text := fmt.Sprintf("%dx%d", s.Caches, s.CPUs)
	if s.Threads > 1 {
		text += fmt.Sprintf(",smt=%d", s.Threads)
	}
	if s.Nodes > 1 {
		text += fmt.Sprintf(",numa=%d", s.Nodes)
	}
	return text
}

// Topology returns where the CPUs of a valid shape are.
func (s Shape) Topology() workqueue.Topology {
	n := s.Caches * s.CPUs
	var t workqueue.Topology
	for cpu := range n {
		t = append(t, workqueue.Place{
			CPU: cpu, Core: cpu / s.Threads, Cache: cpu / s.CPUs, Node: cpu / (n / s.Nodes),
		})
	}
	return t
}
