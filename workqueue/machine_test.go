package workqueue

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// grid returns a topology of n CPUs in cores of smt threads, caches of perCache
// CPUs and nodes of perNode CPUs, all numbered in sequence.
func grid(n, smt, perCache, perNode int) Topology {
	var t Topology
	for cpu := range n {
		t = append(t, Place{CPU: cpu, Core: cpu / smt, Cache: cpu / perCache, Node: cpu / perNode})
	}
	return t
}

// machines are those on which the rules of queues are tested, with the workers
// as goroutines without threads.
var machines = []struct {
	name     string
	topology Topology
}{
	{"1", grid(1, 1, 1, 1)},
	{"2", grid(2, 1, 2, 2)},
	{"8 of 2 caches", grid(8, 2, 4, 8)},
	{"96 of 2 nodes", grid(96, 2, 16, 48)},
}

// policies are all that a queue can be asked for.
var policies = []Attrs{
	{Kind: Bound},
	{Kind: Inline},
	{Kind: Unbound, Scope: ScopeCPU},
	{Kind: Unbound, Scope: ScopeSMT},
	{Kind: Unbound, Scope: ScopeCache},
	{Kind: Unbound, Scope: ScopeNUMA},
	{Kind: Unbound, Scope: ScopeSystem},
	{Kind: Unbound, Scope: ScopeCPU, Strict: true},
	{Kind: Unbound, Scope: ScopeCache, Strict: true},
	{Kind: Unbound, Scope: ScopeSystem, Strict: true},
	{Kind: Auto},
}

func policyName(a Attrs) string {
	name := a.Kind.String()
	if a.Kind == Unbound {
		name += " " + a.Scope.String()
	}
	if a.Strict {
		name += " strict"
	}
	return name
}

const testHandOver = 10 * time.Microsecond

// A testMachine is one whose current CPU the test sets.
type testMachine struct {
	cpu atomic.Int64 // that items are queued on
	Machine
}

var errRefused = errors.New("refused")

func newTestMachine(t Topology) *testMachine {
	m := new(testMachine)
	m.Machine = Machine{
		Topology:    t,
		CurrentCPU:  func() int { return int(m.cpu.Load()) },
		Now:         stopwatch(),
		Start:       startGoroutine,
		StartThread: startGoroutine,
		NewSleeper:  newSleeper,
		LeaveNext:   leaveNext,
		Pin:         func([]int) error { return nil },
		Renice:      func(int) error { return nil },
		HandOver:    func() time.Duration { return testHandOver },
	}
	return m
}

// mustQueue returns a queue on the machine; the test closes it.
func (m *testMachine) mustQueue(t *testing.T, a Attrs) *Queue {
	t.Helper()
	q, err := NewOn(m.Machine, a)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// forEachPolicy runs a test for every policy on every machine, in a bubble in
// which synctest.Wait waits until no worker has anything to do: it would not
// return if an idle one spun. The bubble fails the test if a goroutine is left at
// its end.
func forEachPolicy(t *testing.T, f func(t *testing.T, m *testMachine, a Attrs)) {
	for _, machine := range machines {
		for _, a := range policies {
			t.Run(fmt.Sprintf("%s/%s", machine.name, policyName(a)), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { f(t, newTestMachine(machine.topology), a) })
			})
		}
	}
}

// items returns n items with the same function.
func items(n int, fn func(*Work)) []Work {
	works := make([]Work, n)
	for i := range works {
		works[i].Init(fn)
	}
	return works
}

// A gate is an item that runs until it is opened.
type gate struct {
	Work
	running atomic.Bool
	open    chan struct{}
}

func newGate() *gate {
	g := &gate{open: make(chan struct{})}
	g.Init(func(*Work) {
		g.running.Store(true)
		<-g.open
		g.running.Store(false)
	})
	return g
}
