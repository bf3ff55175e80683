package workqueue

import (
	"fmt"
	"slices"
	"testing"
)

func TestPlan(t *testing.T) {
	eight := grid(8, 2, 4, 8)
	tests := []struct {
		name     string
		attrs    Attrs
		topology Topology
		cpus     []int
		pools    string // CPUs * workers, pinned to
		home     []int
	}{
		{"bound", Attrs{}, grid(2, 1, 2, 2), []int{0, 1},
			"0*1@0 1*1@1", []int{0, 1}},
		{"bound, on some CPUs: the sibling, then turns in the cache",
			Attrs{}, eight, []int{1, 2, 7}, "1*1@1 2*1@2 7*1@7", []int{0, 0, 1, 1, 2, 2, 2, 2}},
		{"bound, no CPU is near", Attrs{}, eight, []int{0, 1},
			"0*1@0 1*1@1", []int{0, 1, 0, 1, 0, 1, 0, 1}},
		{"inline", Attrs{Kind: Inline}, grid(3, 1, 3, 3), []int{1},
			"0*0@ 1*0@ 2*0@", []int{0, 1, 2}},
		{"cpu", Attrs{Kind: Unbound, Scope: ScopeCPU}, grid(2, 1, 2, 2), []int{0, 1},
			"0*1@ 1*1@", []int{0, 1}},
		{"smt", Attrs{Kind: Unbound, Scope: ScopeSMT}, eight, eight.CPUs(),
			"0-1*2@ 2-3*2@ 4-5*2@ 6-7*2@", []int{0, 0, 1, 1, 2, 2, 3, 3}},
		{"cache", Attrs{Kind: Unbound, Scope: ScopeCache}, eight, eight.CPUs(),
			"0-3*4@ 4-7*4@", []int{0, 0, 0, 0, 1, 1, 1, 1}},
		{"numa", Attrs{Kind: Unbound, Scope: ScopeNUMA}, eight, eight.CPUs(),
			"0-7*8@", []int{0, 0, 0, 0, 0, 0, 0, 0}},
		{"system", Attrs{Kind: Unbound, Scope: ScopeSystem}, grid(4, 1, 1, 1), []int{0, 1, 2, 3},
			"0-3*4@", []int{0, 0, 0, 0}},
		{"cache, strict", Attrs{Kind: Unbound, Strict: true}, eight, eight.CPUs(),
			"0-3*4@0-3 4-7*4@4-7", []int{0, 0, 0, 0, 1, 1, 1, 1}},
		{"cache, on some CPUs", Attrs{Kind: Unbound}, eight, []int{1, 3, 5},
			"1,3*2@1,3,5 5*1@1,3,5", []int{0, 0, 0, 0, 1, 1, 1, 1}},
		{"cache, strict, on some CPUs", Attrs{Kind: Unbound, Strict: true}, eight, []int{1, 3, 5},
			"1,3*2@1,3 5*1@5", []int{0, 0, 0, 0, 1, 1, 1, 1}},
		{"system, strict: as free as the process", Attrs{Kind: Unbound, Scope: ScopeSystem, Strict: true}, grid(2, 1, 2, 2), []int{0, 1},
			"0-1*2@", []int{0, 0}},
		{"cache, max_active 3", Attrs{Kind: Unbound, MaxActive: 3}, eight, eight.CPUs(),
			"0-3*3@ 4-7*3@", []int{0, 0, 0, 0, 1, 1, 1, 1}},
		{"gaps in the numbers", Attrs{}, Topology{{CPU: 2, Core: 2}, {CPU: 5, Core: 5}}, []int{2, 5},
			"2*1@2 5*1@5", []int{0, 0, 0, 0, 0, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlan(tt.attrs, tt.topology, tt.cpus)
			got := ""
			for i, pool := range p.pools {
				if i > 0 {
					got += " "
				}
				got += fmt.Sprintf("%s*%d@%s", FormatCPUs(pool.cpus), pool.workers, FormatCPUs(pool.pin))
			}
			if got != tt.pools {
				t.Errorf("pools:\n got %s\nwant %s", got, tt.pools)
			}
			if !slices.Equal(p.home, tt.home) {
				t.Errorf("home:\n got %v\nwant %v", p.home, tt.home)
			}
		})
	}
}

// Pools steal from those that share the most, and the nearest are not the same
// for all.
func TestPlanSteal(t *testing.T) {
	machine := grid(16, 2, 4, 8)
	tests := []struct {
		name  string
		attrs Attrs
		pool  int
		want  []int
	}{
		{"cpu", Attrs{Kind: Unbound, Scope: ScopeCPU}, 5, []int{4, 6, 7, 0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15}},
		{"cpu, last", Attrs{Kind: Unbound, Scope: ScopeCPU}, 15, []int{14, 12, 13, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7}},
		{"cache", Attrs{Kind: Unbound}, 1, []int{0, 2, 3}},
		{"cache, another", Attrs{Kind: Unbound}, 2, []int{3, 0, 1}},
		{"system", Attrs{Kind: Unbound, Scope: ScopeSystem}, 0, nil},
		{"strict", Attrs{Kind: Unbound, Strict: true}, 1, nil},
		{"bound", Attrs{Kind: Bound}, 1, nil},
		{"inline", Attrs{Kind: Inline}, 1, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlan(tt.attrs, machine, machine.CPUs())
			if got := p.pools[tt.pool].steal; !slices.Equal(got, tt.want) {
				t.Errorf("pool %d steals from\n got %v\nwant %v", tt.pool, got, tt.want)
			}
		})
	}
}

// However many pools there are, there are no more workers than CPUs.
func TestPlanWorkers(t *testing.T) {
	for _, m := range machines {
		for _, a := range policies {
			for _, a.MaxActive = range []int{0, 1, 5, 1000} {
				p := newPlan(a, m.topology, m.topology.CPUs())
				want := len(m.topology)
				switch {
				case a.Kind == Inline:
					want = 0
				case a.Kind != Bound && a.MaxActive > 0:
					want = min(want, a.MaxActive*len(p.pools))
				}
				if got := p.workers(); got > want {
					t.Errorf("%s, %s, max_active %d: %d workers, want at most %d", m.name, policyName(a), a.MaxActive, got, want)
				}
			}
		}
	}
}

// A CPU that came after the plan was made has a pool, too.
func TestPlanHomeOfNewCPU(t *testing.T) {
	p := newPlan(Attrs{}, grid(2, 1, 2, 2), []int{0, 1})
	for _, cpu := range []int{2, 3, 4095} {
		if got := p.homeOf(cpu); got != cpu%2 {
			t.Errorf("homeOf(%d) = %d, want %d", cpu, got, cpu%2)
		}
	}
}
