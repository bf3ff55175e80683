package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"encfs/cpufeat"
)

// planOf returns the plan that arguments ask for, on a process with some CPUs.
func planOf(own []int, args ...string) (*tarPlan, error) {
	var f tarFlags
	flags := pflag.NewFlagSet("tar", pflag.ContinueOnError)
	f.add(flags)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	return f.plan(own)
}

// describe names a setup in a word.
func describe(s *tarSetup) string {
	if !s.mounted() {
		return fmt.Sprintf("none%d", s.jobs)
	}
	word := s.cipher.name + "/" + s.pipeline.Queue
	if s.scope != "" {
		word += "/" + s.scope
	}
	if len(s.cleared) > 0 {
		word += "-" + strings.Join(s.cleared, "-")
	}
	return fmt.Sprintf("%s%d", word, s.jobs)
}

func TestTarPlan(t *testing.T) {
	own := []int{0}
	for _, tt := range []struct {
		name  string
		args  []string
		want  string // setups in their order
		cells int
	}{
		{"defaults", nil,
			"none1 null/inline1 aes-256-xts/bound1 aes-256-xts/unbound/cache1 aes-256-xts/inline1 aes-256-xts/auto/cache1 " +
				"none2 null/inline2 aes-256-xts/bound2 aes-256-xts/unbound/cache2 aes-256-xts/inline2 aes-256-xts/auto/cache2", 12},
		{"both caches", []string{"--cache", "warm,cold", "--jobs", "3", "--queue", "bound"},
			"none3 null/inline3 aes-256-xts/bound3", 1 + 2 + 2},
		{"scopes", []string{"--queue-scope", "cpu,system", "--jobs", "1", "--queue", "bound,unbound"},
			"none1 null/inline1 aes-256-xts/bound1 aes-256-xts/unbound/cpu1 aes-256-xts/unbound/system1", 5},
		{"null among them", []string{"--cipher", "null,adiantum", "--jobs", "1", "--queue", "bound,inline"},
			"none1 null/bound1 null/inline1 adiantum/bound1 adiantum/inline1", 5},
		{"null with another queue", []string{"--cipher", "null", "--jobs", "1", "--queue", "bound"},
			"none1 null/inline1 null/bound1", 3},
		{"cleared", []string{"--clear-cpu", "", "--clear-cpu", "aes", "--jobs", "1,2", "--queue", "inline", "--cipher", "speck128-xts"},
			"none1 null/inline1 speck128-xts/inline1 speck128-xts/inline-aes1 none2 null/inline2 speck128-xts/inline2 speck128-xts/inline-aes2", 8},
		{"each once", []string{"--cipher", "adiantum,adiantum", "--jobs", "1,1", "--queue", "INLINE, inline", "--cpus", "1,1", "--driver", "adiantum-generic,adiantum-generic"},
			"none1 null/inline1 adiantum/inline1", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if slices.Contains(tt.args, "aes") && cpufeat.Detect().Source != "CPUID" {
				t.Skip("aes is no feature of this machine")
			}
			p, err := planOf(own, tt.args...)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range p.setups {
				s := &p.setups[i]
				got = append(got, describe(s))
				if s.cleared == nil || s.completion == nil || !slices.Equal(s.cpus, own) {
					t.Errorf("%s: cleared %v, CPUs %v, completion %v", describe(s), s.cleared, s.cpus, s.completion)
				}
			}
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			if got := p.cells(); got != tt.cells {
				t.Errorf("got %d cells, want %d", got, tt.cells)
			}
		})
	}
}

func TestTarPlanDrivers(t *testing.T) {
	p, err := planOf([]int{0}, "--cipher", "adiantum,speck128-xts,null", "--driver", "adiantum-generic", "--jobs", "1", "--queue", "inline")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range p.setups {
		got[s.cipher.name] = s.driver + " " + s.pipeline.Drivers.Driver
	}
	for cipher, want := range map[string]string{
		"": " ", "null": " ", "adiantum": "adiantum-generic adiantum-generic", "speck128-xts": "xts-speck128-generic ",
	} {
		if got[cipher] != want {
			t.Errorf("%q: got %q, want %q", cipher, got[cipher], want)
		}
	}
}

// All setups come once in each run. Those of a group stay together and take turns.
func TestTarOrder(t *testing.T) {
	p, err := planOf([]int{0}, "--jobs", "1,2", "--queue", "bound,unbound,inline", "--cipher", "adiantum")
	if err != nil {
		t.Fatal(err)
	}
	for run, want := range []string{
		"none1 null/inline1 adiantum/bound1 adiantum/unbound/cache1 adiantum/inline1 none2 null/inline2 adiantum/bound2 adiantum/unbound/cache2 adiantum/inline2",
		"null/inline1 none1 adiantum/unbound/cache1 adiantum/inline1 adiantum/bound1 null/inline2 none2 adiantum/unbound/cache2 adiantum/inline2 adiantum/bound2",
		"none1 null/inline1 adiantum/inline1 adiantum/bound1 adiantum/unbound/cache1 none2 null/inline2 adiantum/inline2 adiantum/bound2 adiantum/unbound/cache2",
	} {
		var got []string
		for _, s := range p.order(run) {
			got = append(got, describe(s))
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("run %d:\n got %s\nwant %s", run, got, want)
		}
	}
}

func TestTarPlanErrors(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--queue", "fast"}, "--queue fast: unknown; known are bound, unbound, inline, auto"},
		{[]string{"--queue", ","}, "--queue: must not be empty"},
		{[]string{"--queue-scope", "cache,room"}, "--queue-scope room: unknown; known are cpu, smt, cache, numa, system"},
		{[]string{"--queue", "bound,inline", "--queue-scope", "cpu"}, "--queue bound,inline and --queue-scope: these queues have none"},
		{[]string{"--queue", "inline", "--queue-max-active", "2"}, "--queue inline and --queue-max-active: these queues have none"},
		{[]string{"--queue-max-active", "-1"}, "max_active -1 is less than 0"},
		{[]string{"--cipher", "rot13"}, "--cipher rot13: unknown; known are aes-256-xts, adiantum, aes-128-cbc-essiv, sm4-xts, speck128-xts, null"},
		{[]string{"--driver", "fast-aes"}, "--driver fast-aes: unknown driver; known are "},
		{[]string{"--driver", "adiantum-generic"}, "--driver adiantum-generic: is for adiantum(xchacha12,aes), which is none of --cipher aes-256-xts"},
		{[]string{"--jobs", "0"}, "--jobs 0: less than 1"},
		{[]string{"--jobs", "1,-1"}, "--jobs -1: less than 1"},
		{[]string{"--jobs", "two"}, "--jobs two: not a whole number"},
		{[]string{"--cpus", "3"}, "--cpus 3: there are 2"},
		{[]string{"--cpus", "0"}, "--cpus 0: less than 1"},
		{[]string{"--cache", "hot"}, "--cache hot: unknown; known are cold, warm"},
		{[]string{"--completion-cpus", "x"}, `--completion-cpus: list of CPUs "x"`},
		{[]string{"--completion-cpus", "0,7-8"}, "--completion-cpus: CPU 7-8 is not among those that the process may use (0,5)"},
		{[]string{"--completion-cpus", "5", "--cpus", "2,1"}, "--completion-cpus: CPU 5 is not among those that the process may use (0)"},
		{[]string{"--clear-cpu", "hair"}, `--clear-cpu: unknown CPU feature "hair"`},
	} {
		_, err := planOf([]int{0, 5}, tt.args...)
		if err == nil {
			t.Errorf("%q: no error", tt.args)
			continue
		}
		if code, _ := classify(err); code != exitUsage || !strings.Contains(message(err), tt.want) {
			t.Errorf("%q: got %q, code %d, want %q", tt.args, message(err), code, tt.want)
		}
	}
}

func TestDefaultJobs(t *testing.T) {
	for cpus, want := range map[int]string{1: "1,2", 2: "1,2,4", 3: "1,2,4,6", 4: "1,2,4,8", 6: "1,2,4,8,12"} {
		if got := defaultJobs(cpus); got != want {
			t.Errorf("%d CPUs: got %s, want %s", cpus, got, want)
		}
	}
}
