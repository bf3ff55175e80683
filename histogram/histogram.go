// Package histogram counts durations, without a lock, so that percentiles of
// them can be told later.
//
// Buckets are as in HdrHistogram: eight for each power of two, so that a
// percentile is off by at most an eighth of its value, in memory that does not
// depend on how much is counted.
package histogram

import (
	"iter"
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

const (
	subBits = 3  // binary logarithm of the number of buckets for a power of two
	maxBits = 37 // durations of 2^37 ns, which is 137 s, and more are counted as the last bucket

	// Durations below 2^subBits ns have a bucket each.
	buckets = (maxBits - subBits + 1) << subBits
)

// A Histogram counts durations. The zero value is ready for use. Its methods may
// be called concurrently; who counts often on many CPUs has one for each and adds
// them up. It must not be copied.
type Histogram struct {
	counts [buckets]atomic.Uint64
}

// Record counts a duration. One that is negative counts as 0, as clocks may
// make it.
func (h *Histogram) Record(d time.Duration) { h.counts[bucketOf(d)].Add(1) }

// AddTo adds the counts to those of s. What is recorded meanwhile may be among
// them or not.
func (h *Histogram) AddTo(s *Snapshot) {
	for i := range h.counts {
		n := h.counts[i].Load()
		s.counts[i] += n
		s.count += n
	}
}

// A Snapshot has the counts of one or several histograms at a moment. The zero
// value has none.
type Snapshot struct {
	counts [buckets]uint64
	count  uint64
}

// Count returns how many durations were counted.
func (s *Snapshot) Count() uint64 { return s.count }

// All yields the middle of each bucket in which durations were counted, ascending,
// and their number.
func (s *Snapshot) All() iter.Seq2[time.Duration, uint64] {
	return func(yield func(time.Duration, uint64) bool) {
		for i, n := range s.counts {
			if n > 0 && !yield(middle(i), n) {
				return
			}
		}
	}
}

// Quantile returns the duration that the part q of those counted, 0 to 1, do not
// exceed: the middle of the bucket of the one in that place, 0 if there is none.
// Where all durations were at least 8 ns it is off by at most an eighth.
func (s *Snapshot) Quantile(q float64) time.Duration {
	if q < 0 || q > 1 {
		panic("histogram: quantile that is not within 0 to 1")
	}
	if s.count == 0 {
		return 0
	}
	rank := uint64(max(1, math.Ceil(q*float64(s.count)))) - 1 // from 0
	i := 0
	for seen := s.counts[0]; seen <= rank; seen += s.counts[i] {
		i++
	}
	return middle(i)
}

// bucketOf returns the bucket of a duration. Below 2^subBits it is the number of
// nanoseconds; above, the subBits bits after the leading one choose among the
// buckets of that power of two.
func bucketOf(d time.Duration) int {
	n := uint64(max(0, min(d, 1<<maxBits-1)))
	shift := max(0, bits.Len64(n)-subBits-1)
	return shift<<subBits + int(n>>shift)
}

// middle returns the middle of the durations of a bucket.
func middle(i int) time.Duration {
	shift := max(0, i>>subBits-1)
	first := uint64(i-shift<<subBits) << shift
	return time.Duration(first + (1<<shift-1)/2)
}
