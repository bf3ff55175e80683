package bench

import (
	"math"
	"slices"
)

// A Ratio is the factor between two samples, with its 95 % confidence interval.
type Ratio struct {
	Value     float64 // NaN if there is none
	Low, High float64 // NaN if there are too few values to tell
}

// ratioConfidence is the least confidence of the interval of a Ratio.
const ratioConfidence = 0.95

// EstimateRatio returns by what factor the values of a are larger than those of b: the
// median of all quotients, which is the estimate of Hodges and Lehmann for a shift of
// the logarithms. The interval has the factors that the U test does not reject, after
// Moses; it takes four values on either side, or three and five. The values have to
// be finite and more than 0, otherwise there is no ratio, nor is there one of nothing.
//
// J. L. Hodges, E. L. Lehmann, "Estimates of location based on rank tests" (1963);
// M. Hollander, D. A. Wolfe, "Nonparametric statistical methods", section 4.3.
func EstimateRatio(a, b []float64) Ratio {
	r := Ratio{math.NaN(), math.NaN(), math.NaN()}
	if len(a) == 0 || len(b) == 0 || !allPositive(a) || !allPositive(b) {
		return r
	}
	quotients := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			quotients = append(quotients, x/y)
		}
	}
	slices.Sort(quotients)
	r.Value = median(quotients)
	if k := tailOfU(len(a), len(b), (1-ratioConfidence)/2); k > 0 {
		r.Low, r.High = quotients[k-1], quotients[len(quotients)-k]
	}
	return r
}

func allPositive(values []float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return !(v > 0) || math.IsInf(v, 0) })
}

// tailOfU returns the largest k such that U, the statistic of Mann and Whitney for
// samples of these sizes without ties, is less than k with probability p at most.
func tailOfU(na, nb int, p float64) int {
	n := na + nb
	if n > exactLimit {
		mean, deviation := float64(na*nb)/2, math.Sqrt(float64(na)*float64(nb)*float64(n+1)/12)
		return max(0, int(mean-math.Sqrt2*math.Erfinv(1-2*p)*deviation))
	}
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = 2 * (i + 1)
	}
	ways := subsetSums(ranks, na)
	all := 0.0
	for _, w := range ways {
		all += w
	}
	below, least := 0.0, na*(na+1) // the sum of the lowest doubled ranks, where U is 0
	for u := 0; ; u++ {
		if below += ways[least+2*u]; below > p*all {
			return u
		}
	}
}
