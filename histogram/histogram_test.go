package histogram

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// Every bucket begins where the one before ends.
func TestBuckets(t *testing.T) {
	for _, n := range []time.Duration{0, 1, 7, 8, 9, 15, 16, 17, 18, 31, 32, 1000, 1 << 20, 1<<20 + 1<<17 - 1, 1<<20 + 1<<17, 1<<maxBits - 1} {
		i := bucketOf(n)
		if i < 0 || i >= buckets {
			t.Fatalf("bucketOf(%d) = %d of %d", n, i, buckets)
		}
		if got := bucketOf(middle(i)); got != i {
			t.Errorf("bucketOf(%d) = %d, but that of its middle %d is %d", n, i, middle(i), got)
		}
	}
	last := -1
	for n := time.Duration(0); n < 5000; n++ {
		i := bucketOf(n)
		if i != last && i != last+1 {
			t.Fatalf("bucketOf(%d) = %d after %d", n, i, last)
		}
		last = i
	}
	for _, tt := range []struct {
		name string
		d    time.Duration
		want int
	}{
		{"negative", -1, 0},
		{"longest", 1<<maxBits - 1, buckets - 1},
		{"one more", 1 << maxBits, buckets - 1},
		{"longest of all", math.MaxInt64, buckets - 1},
	} {
		if got := bucketOf(tt.d); got != tt.want {
			t.Errorf("%s: bucketOf = %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestQuantile(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct {
		name  string
		n     int
		value func(i int) time.Duration
	}{
		{"one", 1, func(int) time.Duration { return 12345 }},
		{"two", 2, func(i int) time.Duration { return []time.Duration{100, 10000}[i] }},
		{"equal", 100, func(int) time.Duration { return time.Millisecond }},
		{"small", 8, func(i int) time.Duration { return time.Duration(i) }},
		{"uniform", 10000, func(int) time.Duration { return 8 + time.Duration(rnd.Int64N(1e6)) }},
		{"exponential", 10000, func(int) time.Duration { return 8 + time.Duration(rnd.ExpFloat64()*50000) }},
		{"two peaks", 1000, func(i int) time.Duration {
			if i%100 == 0 {
				return 20 * time.Millisecond
			}
			return 3 * time.Microsecond
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var h Histogram
			var all []time.Duration
			for i := range tt.n {
				d := tt.value(i)
				all = append(all, d)
				h.Record(d)
			}
			slices.Sort(all)
			var s Snapshot
			h.AddTo(&s)
			if s.Count() != uint64(tt.n) {
				t.Errorf("Count = %d, want %d", s.Count(), tt.n)
			}
			for _, q := range []float64{0, 0.5, 0.95, 0.99, 1} {
				exact := all[max(0, int(math.Ceil(q*float64(tt.n)))-1)]
				got := s.Quantile(q)
				if diff := (got - exact).Abs(); diff > exact/8 {
					t.Errorf("Quantile(%g) = %d, exactly %d", q, got, exact)
				}
			}
		})
	}
}

func TestNothingCounted(t *testing.T) {
	var s Snapshot
	if s.Count() != 0 || s.Quantile(0.5) != 0 {
		t.Errorf("Count = %d, Quantile = %d, want 0", s.Count(), s.Quantile(0.5))
	}
}

func TestConcurrent(t *testing.T) {
	var a, b Histogram
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			h := []*Histogram{&a, &b}[i%2]
			for range 1000 {
				h.Record(time.Duration(1000 + i))
			}
		})
	}
	wg.Wait()
	var s Snapshot
	a.AddTo(&s)
	b.AddTo(&s)
	if s.Count() != 8000 {
		t.Errorf("Count = %d, want 8000", s.Count())
	}
}

func BenchmarkRecord(b *testing.B) {
	var h Histogram
	for i := 0; b.Loop(); i++ {
		h.Record(time.Duration(i & 0xfffff))
	}
}

func TestAll(t *testing.T) {
	var h Histogram
	for _, d := range []time.Duration{0, 7, 7, 1000, 1 << maxBits, 1000} {
		h.Record(d)
	}
	var s Snapshot
	h.AddTo(&s)
	var durations []time.Duration
	var counts []uint64
	for d, n := range s.All() {
		durations, counts = append(durations, d), append(counts, n)
	}
	if want := []time.Duration{0, 7, middle(bucketOf(1000)), middle(buckets - 1)}; !slices.Equal(durations, want) {
		t.Errorf("got %v, want %v", durations, want)
	}
	if want := []uint64{1, 2, 2, 1}; !slices.Equal(counts, want) {
		t.Errorf("got %v, want %v", counts, want)
	}
	for range s.All() {
		break // and no more is yielded
	}
	for range new(Snapshot).All() {
		t.Error("nothing was counted")
	}
}
