package bench

import (
	"math"
	"testing"
)

// The numbers of quotients outside are one more than the critical values of U for two
// sides at 5 %, in any table of the Mann-Whitney U test.
func TestQuotientsOutside(t *testing.T) {
	for _, tt := range []struct{ na, nb, critical int }{
		{1, 1, -1}, {3, 3, -1}, {3, 4, -1}, {2, 7, -1},
		{4, 4, 0}, {2, 8, 0}, {3, 5, 0}, {3, 6, 1},
		{4, 5, 1}, {5, 5, 2}, {5, 6, 3}, {6, 6, 5}, {7, 7, 8}, {8, 8, 13}, {10, 10, 23}, {20, 20, 127}, {7, 12, 18},
	} {
		for _, n := range [][2]int{{tt.na, tt.nb}, {tt.nb, tt.na}} {
			if got := quotientsOutside(n[0], n[1]); got != tt.critical+1 {
				t.Errorf("%d and %d: got %d, want %d", n[0], n[1], got, tt.critical+1)
			}
		}
	}
	// The approximation goes on where counting ends.
	exact, approximate := quotientsOutside(exactLimit/2, exactLimit/2), quotientsOutside(exactLimit/2+1, exactLimit/2)
	if approximate <= exact || approximate > exact+exactLimit/2 {
		t.Errorf("%d follows %d", approximate, exact)
	}
}

func TestSpeedup(t *testing.T) {
	for _, tt := range []struct {
		name   string
		a, b   []float64
		v      float64
		lo, hi float64
	}{
		{"one", []float64{2}, []float64{3}, 1.5, math.NaN(), math.NaN()},
		{"three", []float64{1, 1, 1}, []float64{2, 2, 2}, 2, math.NaN(), math.NaN()},
		{"equal", []float64{1, 1, 1, 1}, []float64{1, 1, 1, 1}, 1, 1, 1},
		{"twice", []float64{1, 1, 1, 1}, []float64{2, 2, 2, 2}, 2, 2, 2},
		// 16 quotients from 4/2 to 7/1; the outermost ones bound the interval.
		{"four", []float64{1, 1, 2, 2}, []float64{4, 5, 6, 7}, 3.75, 2, 7},
		// Of 25 quotients the third ones from either end do.
		{"five", []float64{1, 1, 1, 1, 1}, []float64{10, 11, 12, 13, 14}, 12, 10, 14},
		{"five and a slow one", []float64{1, 1, 1, 1, 2}, []float64{10, 11, 12, 13, 14}, 11, 6, 14},
	} {
		got := NewSpeedup(tt.a, tt.b)
		same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
		if !same(got.Value, tt.v) || !same(got.Low, tt.lo) || !same(got.High, tt.hi) {
			t.Errorf("%s: got %v, want %v [%v, %v]", tt.name, got, tt.v, tt.lo, tt.hi)
		}
	}
}

// The interval has 1 in it just where the U test sees no difference.
func TestSpeedupAgreesWithUTest(t *testing.T) {
	a := []float64{1, 1.01, 1.02, 1.03, 1.04}
	for shift := 1.0; shift < 1.06; shift += 0.0037 {
		b := make([]float64, len(a))
		for i := range a {
			b[i] = a[i] * shift
		}
		s := NewSpeedup(a, b)
		if outside := s.Low > 1 || s.High < 1; outside != (mannWhitney(a, b) < Significance) {
			t.Errorf("slower by %.4f: %v, p=%.3f", shift, s, mannWhitney(a, b))
		}
	}
}
