package bench

import (
	"slices"
	"testing"
)

func TestDistribution(t *testing.T) {
	var none Distribution
	a := Distribution{{1, 2}, {3, 4}, {8, 1}}
	b := Distribution{{1, 1}, {2, 5}, {8, 1}, {9, 9}}
	for _, tt := range []struct {
		name      string
		got, want Distribution
	}{
		{"a+b", a.Plus(b), Distribution{{1, 3}, {2, 5}, {3, 4}, {8, 2}, {9, 9}}},
		{"b+a", b.Plus(a), Distribution{{1, 3}, {2, 5}, {3, 4}, {8, 2}, {9, 9}}},
		{"a+0", a.Plus(none), a},
		{"0+a", none.Plus(a), a},
		{"a-0", a.Minus(none), a},
		{"a-a", a.Minus(a), none},
		{"0-a", none.Minus(a), none},
		{"a+b-b", a.Plus(b).Minus(b), a},
	} {
		if !slices.Equal(tt.got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, tt.got, tt.want)
		}
	}
	if got := a.Mean(); got != (2+12+8)/7.0 {
		t.Errorf("Mean: %v", got)
	}
	for q, want := range map[float64]float64{0: 1, 0.28: 1, 0.29: 3, 0.85: 3, 0.86: 8, 1: 8} {
		if got := a.Quantile(q); got != want {
			t.Errorf("Quantile(%v) = %v, want %v", q, got, want)
		}
	}
	if none.Mean() != 0 || none.Quantile(0.5) != 0 || none.Count() != 0 {
		t.Error("there are durations in none")
	}
}
