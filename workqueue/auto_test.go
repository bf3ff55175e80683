package workqueue

import (
	"testing"
	"time"
)

func TestHelpers(t *testing.T) {
	const us = time.Microsecond
	for _, tt := range []struct {
		name string
		s    Situation
		want int
	}{
		{"nothing to do", Situation{Work: 0, HandOver: 10 * us, CPUs: 4}, 0},
		{"shorter than a hand-over", Situation{Work: 9 * us, HandOver: 10 * us, CPUs: 4}, 0},
		{"one less than for two", Situation{Work: 30*us - 1, HandOver: 10 * us, CPUs: 4}, 0},
		{"for two", Situation{Work: 30 * us, HandOver: 10 * us, CPUs: 4}, 1},
		{"one less than for three", Situation{Work: 40*us - 1, HandOver: 10 * us, CPUs: 4}, 1},
		{"for three", Situation{Work: 40 * us, HandOver: 10 * us, CPUs: 4}, 2},
		{"for all CPUs", Situation{Work: 50 * us, HandOver: 10 * us, CPUs: 4}, 3},
		{"more than all CPUs", Situation{Work: time.Hour, HandOver: 10 * us, CPUs: 4}, 3},
		{"128 CPUs", Situation{Work: time.Millisecond, HandOver: 10 * us, CPUs: 128}, 98},
		{"one CPU", Situation{Work: time.Hour, HandOver: 10 * us, CPUs: 1}, 0},
		{"a busy worker", Situation{Work: time.Hour, HandOver: 10 * us, CPUs: 4, Workers: 1}, 2},
		{"another caller", Situation{Work: time.Hour, HandOver: 10 * us, CPUs: 4, Callers: 1}, 2},
		{"both", Situation{Work: time.Hour, HandOver: 10 * us, CPUs: 4, Workers: 1, Callers: 1}, 1},
		{"all busy", Situation{Work: time.Hour, HandOver: 10 * us, CPUs: 4, Workers: 3}, 0},
		{"all CPUs have callers", Situation{Work: time.Hour, HandOver: 10 * us, CPUs: 4, Callers: 3}, 0},
		{"more callers than CPUs", Situation{Work: time.Hour, HandOver: 10 * us, CPUs: 4, Callers: 60}, 0},
		{"idle CPUs but little work", Situation{Work: 35 * us, HandOver: 10 * us, CPUs: 128, Callers: 3}, 1},
		{"a hand-over that costs nothing", Situation{Work: 1, CPUs: 4}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.s.Helpers(); got != tt.want {
				t.Errorf("%+v: Helpers = %d, want %d", tt.s, got, tt.want)
			}
		})
	}
}

// Steps cover the units and get shorter, down to a limit.
func TestStep(t *testing.T) {
	for _, n := range []int{1, 2, 3, 15, 16, 17, 32, 33, 256, 257, 100000} {
		for _, helpers := range []int{1, 2, 3, 127} {
			last, steps := n, 0
			for left := n; left > 0; steps++ {
				got := Step(n, left, helpers)
				least := min(left, max(1, n/(leastSteps*(helpers+1))))
				if got < least || got > left || got > last {
					t.Fatalf("Step(%d, %d, %d) = %d after %d, want at least %d", n, left, helpers, got, last, least)
				}
				left, last = left-got, got
			}
			if most := (helpers + 1) * leastSteps * 2; steps > most {
				t.Errorf("%d units, %d helpers: %d steps, want at most %d", n, helpers, steps, most)
			}
		}
	}
}
