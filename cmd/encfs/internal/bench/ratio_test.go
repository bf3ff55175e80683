package bench

import (
	"math"
	"testing"
)

func TestEstimateRatio(t *testing.T) {
	nan := math.NaN()
	many := func(n int, scale float64) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = scale * (100 + float64(i)) / 100
		}
		return values
	}
	for _, tt := range []struct {
		name string
		a, b []float64
		want Ratio
	}{
		{"nothing", nil, []float64{1}, Ratio{nan, nan, nan}},
		{"of nothing", []float64{1}, nil, Ratio{nan, nan, nan}},
		{"one each", []float64{3}, []float64{2}, Ratio{1.5, nan, nan}},
		{"three each are too few", []float64{2, 2, 2}, []float64{1, 1, 1}, Ratio{2, nan, nan}},
		{"three and four are too few", []float64{2, 2, 2}, []float64{1, 1, 1, 1}, Ratio{2, nan, nan}},
		{"three and five", []float64{2, 4, 8}, []float64{1, 1, 1, 1, 1}, Ratio{4, 2, 8}},
		{"four each: all quotients", []float64{1, 2, 4, 8}, []float64{1, 1, 1, 1}, Ratio{3, 1, 8}},
		{"the same", []float64{5, 5, 5, 5}, []float64{5, 5, 5, 5}, Ratio{1, 1, 1}},
		{"five each", []float64{1, 2, 4, 8, 16}, []float64{1, 1, 1, 1, 1}, Ratio{4, 1, 16}},
		{"zero", []float64{0, 1, 2, 3}, many(4, 1), Ratio{nan, nan, nan}},
		{"negative", many(4, 1), []float64{-1, 1, 2, 3}, Ratio{nan, nan, nan}},
		{"not a number", []float64{nan, 1, 2, 3}, many(4, 1), Ratio{nan, nan, nan}},
		{"infinite", []float64{math.Inf(1), 1, 2, 3}, many(4, 1), Ratio{nan, nan, nan}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := EstimateRatio(tt.a, tt.b)
			if !near(got.Value, tt.want.Value) || !near(got.Low, tt.want.Low) || !near(got.High, tt.want.High) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			back := EstimateRatio(tt.b, tt.a) // is the same the other way round
			if len(tt.a)*len(tt.b)%2 == 1 && !near(back.Value, 1/got.Value) || !near(back.Low, 1/got.High) || !near(back.High, 1/got.Low) {
				t.Errorf("got %v, and the other way round %v", got, back)
			}
		})
	}
}

func near(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-9
}

// The critical values of the U test, two-sided at 5 %, are in many books; k is one
// more.
func TestTailOfU(t *testing.T) {
	for _, tt := range []struct{ na, nb, critical int }{
		{3, 5, 0}, {4, 4, 0}, {4, 5, 1}, {5, 5, 2}, {6, 6, 5}, {7, 9, 12}, {10, 10, 23}, {8, 15, 29}, {20, 20, 127},
	} {
		if got := tailOfU(tt.na, tt.nb, 0.025); got != tt.critical+1 {
			t.Errorf("%d and %d values: got %d, want %d", tt.na, tt.nb, got, tt.critical+1)
		}
		if got := tailOfU(tt.nb, tt.na, 0.025); got != tt.critical+1 {
			t.Errorf("%d and %d values: got %d, want %d", tt.nb, tt.na, got, tt.critical+1)
		}
	}
	for _, n := range []int{1, 2, 3} {
		if got := tailOfU(n, n, 0.025); got != 0 {
			t.Errorf("%d values each: got %d, want 0", n, got)
		}
	}
	// The approximation goes on where the exact values end.
	if exact, approx := tailOfU(50, 50, 0.025), tailOfU(50, 51, 0.025); approx < exact || approx > exact+30 {
		t.Errorf("got %d for 50 and 50 values, %d for 50 and 51", exact, approx)
	}
}
