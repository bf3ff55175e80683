package bench

import (
	"math"
	"slices"
)

// A Speedup is how many times as fast one thing is as another.
type Speedup struct {
	Value     float64
	Low, High float64 // a confidence interval; NaN if there are too few samples
}

// Confidence is the probability, at least, that the interval of a Speedup has the
// true one in it.
const Confidence = 0.95

// NewSpeedup estimates how many times as fast as b something is that took the times a,
// by the median of all quotients of a time of b and one of a, which is the shift
// between the logarithms that Hodges and Lehmann estimate ("Estimates of location
// based on rank tests", 1963). Neither may be empty.
//
// The interval goes with the U test: it has those values in it by which a could be
// slowed without the test telling it from b. It takes four samples of each, and
// assumes nothing of how times are distributed but that it is alike in both, up to
// the factor. Nothing is drawn at random.
func NewSpeedup(a, b []float64) Speedup {
	var quotients []float64
	for _, ta := range a {
		for _, tb := range b {
			quotients = append(quotients, tb/ta)
		}
	}
	slices.Sort(quotients)
	s := Speedup{Value: median(quotients), Low: math.NaN(), High: math.NaN()}
	if cut := quotientsOutside(len(a), len(b)); cut > 0 {
		s.Low, s.High = quotients[cut-1], quotients[len(quotients)-cut]
	}
	return s
}

// quotientsOutside returns which of the sorted quotients, counted from 1 at either end,
// bounds the interval: the largest k for which U, between samples of these sizes that
// do not differ, is less than k with a probability of (1-Confidence)/2 at most; 0 if
// there is none.
func quotientsOutside(na, nb int) int {
	const tail = (1 - Confidence) / 2
	if na+nb > exactLimit {
		// The normal approximation of U; 1.96 is where its tail begins.
		mean, deviation := float64(na*nb)/2, math.Sqrt(float64(na*nb*(na+nb+1))/12)
		return max(0, int(math.Floor(mean-1.96*deviation)))
	}
	// ways[k][u] is in how many orders of k values of a and some of b a value of a is
	// larger than one of b in u pairs. The largest of all is one of b, which adds no
	// pair, or one of a, which adds one with each of b.
	ways := make([][]float64, na+1)
	for k := range ways {
		ways[k] = make([]float64, na*nb+1)
		ways[k][0] = 1 // with none of b
	}
	for j := 1; j <= nb; j++ {
		for k := 1; k <= na; k++ {
			for u := j; u <= na*nb; u++ {
				ways[k][u] += ways[k-1][u-j]
			}
		}
	}
	all := 0.0
	for _, w := range ways[na] {
		all += w
	}
	notMore := 0.0 // orders in which U is k at most
	for k := 0; ; k++ {
		if notMore += ways[na][k]; notMore > tail*all {
			return k
		}
	}
}
