package bench

import (
	"math"
	"slices"
)

// median returns the middle of the values, the mean of the two middle ones of an even
// number, and NaN of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}

// medianInterval returns the values between which the median of all that could be measured
// is with a probability of Confidence at least, whatever they are distributed like:
// each value is on either side of it with the same probability, as the sign test has it.
// It takes six values; of fewer both are NaN.
func medianInterval(values []float64) (low, high float64) {
	const tail = (1 - Confidence) / 2
	n := len(values)
	// fewer is the probability that fewer than k values are below the median, and log the
	// logarithm of that of just k.
	log, fewer, k := -float64(n)*math.Ln2, 0.0, 0
	for ; fewer+math.Exp(log) <= tail; k++ {
		fewer += math.Exp(log)
		log += math.Log(float64(n-k) / float64(k+1))
	}
	if k == 0 {
		return math.NaN(), math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[k-1], sorted[n-k]
}

// spread returns the standard deviation of the values in percent of their mean, 0 of
// fewer than two.
func spread(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	mean := 0.0
	for _, v := range values {
		mean += v
	}
	mean /= float64(len(values))
	squares := 0.0
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return 100 * math.Sqrt(squares/float64(len(values)-1)) / math.Abs(mean)
}

// mannWhitney returns the probability that two samples of one distribution differ in
// their ranks as much as a and b do, or more, in either direction: the two-sided p
// of the U test of Mann and Whitney, "On a test of whether one of two random
// variables is stochastically larger than the other" (1947). Neither may be empty.
//
// It is exact up to exactLimit values in all, those that are equal included: the ranks
// are then fixed, and all ways to divide them are counted. Beyond, it takes the normal
// approximation.
func mannWhitney(a, b []float64) float64 {
	ranks, ties := doubledRanks(a, b)
	n, na, nb := len(ranks), len(a), len(b)
	sum := 0
	for _, r := range ranks[:na] {
		sum += r
	}
	mean := na * (n + 1) // of the sums of na doubled ranks
	if n > exactLimit {
		variance := float64(na) * float64(nb) / 3 * (float64(n+1) - ties/float64(n*(n-1)))
		if variance == 0 {
			return 1
		}
		return math.Erfc(math.Abs(float64(sum-mean)) / math.Sqrt(2*variance))
	}

	// ways[k][s] is the number of subsets of k ranks whose sum is s.
	total := n * (n + 1)
	ways := make([][]float64, na+1)
	for k := range ways {
		ways[k] = make([]float64, total+1)
	}
	ways[0][0] = 1
	for i, r := range ranks {
		for k := min(i+1, na); k > 0; k-- {
			for s := total; s >= r; s-- {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	all, extreme := 0.0, 0.0
	for s, w := range ways[na] {
		all += w
		if abs(s-mean) >= abs(sum-mean) {
			extreme += w
		}
	}
	return extreme / all
}

const exactLimit = 100

// doubledRanks returns twice the rank of each value of a, then of b, among all of
// them, counted from 1. Equal values share the mean of their ranks, which doubled
// is an integer. ties is the sum of t³-t over the groups of t equal values.
func doubledRanks(a, b []float64) (ranks []int, ties float64) {
	all := slices.Concat(a, b)
	sorted := slices.Sorted(slices.Values(all))
	for _, v := range all {
		first, _ := slices.BinarySearch(sorted, v)
		last := first
		for last+1 < len(sorted) && sorted[last+1] == v {
			last++
		}
		ranks = append(ranks, first+last+2)
		t := float64(last - first + 1)
		ties += t*t - 1 // by each of the t values
	}
	return ranks, ties
}

func abs(x int) int { return max(x, -x) }

// leastP returns the smallest p that mannWhitney can give for samples of these sizes.
func leastP(na, nb int) float64 {
	p := 2.0
	for i := 1; i <= na; i++ {
		p *= float64(i) / float64(nb+i)
	}
	return min(p, 1)
}
