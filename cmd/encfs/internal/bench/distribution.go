package bench

import "math"

// A Distribution is how many durations were in each bucket of a histogram, ascending,
// each bucket once.
type Distribution []LatencyBucket

// A LatencyBucket is how many requests took about as long.
type LatencyBucket struct {
	Us    float64 `json:"us"` // middle of the bucket, in microseconds
	Count uint64  `json:"count"`
}

// Count returns how many durations there are.
func (d Distribution) Count() uint64 {
	var n uint64
	for _, b := range d {
		n += b.Count
	}
	return n
}

// Mean returns the mean in microseconds, 0 of none.
func (d Distribution) Mean() float64 {
	sum := 0.0
	for _, b := range d {
		sum += b.Us * float64(b.Count)
	}
	if n := d.Count(); n > 0 {
		return sum / float64(n)
	}
	return 0
}

// Quantile returns what the part q of the durations, 0 to 1, do not exceed, in
// microseconds, 0 of none.
func (d Distribution) Quantile(q float64) float64 {
	rank := uint64(max(1, math.Ceil(q*float64(d.Count()))))
	var seen uint64
	for _, b := range d {
		if seen += b.Count; seen >= rank {
			return b.Us
		}
	}
	return 0
}

// Plus returns the durations of both.
func (d Distribution) Plus(o Distribution) Distribution {
	return d.merge(o, func(a, b uint64) uint64 { return a + b })
}

// Minus returns the durations that came since earlier, when those of earlier were
// counted already.
func (d Distribution) Minus(earlier Distribution) Distribution {
	return d.merge(earlier, func(a, b uint64) uint64 { return a - min(a, b) })
}

// merge returns a distribution of both's buckets with the counts that count makes
// of them, without those that are 0.
func (d Distribution) merge(o Distribution, count func(a, b uint64) uint64) Distribution {
	var all Distribution
	for len(d) > 0 || len(o) > 0 {
		var b LatencyBucket
		switch {
		case len(o) == 0 || len(d) > 0 && d[0].Us < o[0].Us:
			b = LatencyBucket{d[0].Us, count(d[0].Count, 0)}
			d = d[1:]
		case len(d) == 0 || o[0].Us < d[0].Us:
			b = LatencyBucket{o[0].Us, count(0, o[0].Count)}
			o = o[1:]
		default:
			b = LatencyBucket{d[0].Us, count(d[0].Count, o[0].Count)}
			d, o = d[1:], o[1:]
		}
		if b.Count > 0 {
			all = append(all, b)
		}
	}
	return all
}
