package htmlreport

import (
	"math"
	"testing"

	"gonum.org/v1/plot"
)

func TestNumber(t *testing.T) {
	for _, tt := range []struct {
		v    float64
		want string
	}{
		{0, "0"}, {math.Copysign(0, -1), "0"}, {1, "1.000"}, {-1, "−1.000"}, {12.3456, "12.35"}, {999.96, "1000.0"}, {1234.5, "1234"}, {12345, "12\u202f345"},
		{1234567, "1\u202f234\u202f567"}, {-12345.6, "−12\u202f346"}, {0.00012345, "0.000123"}, {1e-9, "0.000000"}, {1e20, "1e+20"},
		{math.NaN(), missing}, {math.Inf(1), "∞"}, {math.Inf(-1), "−∞"},
	} {
		if got := number(tt.v); got != tt.want {
			t.Errorf("number(%v): got %q, want %q", tt.v, got, tt.want)
		}
	}
	for _, tt := range []struct {
		v    float64
		want string
	}{{0, "+0.0 %"}, {1.25, "+1.2 %"}, {-34.56, "−34.6 %"}, {math.NaN(), missing}, {math.Inf(1), "∞"}} {
		if got := percent(tt.v); got != tt.want {
			t.Errorf("percent(%v): got %q, want %q", tt.v, got, tt.want)
		}
	}
}

func TestCPUList(t *testing.T) {
	for _, tt := range []struct {
		cpus []int
		want string
	}{
		{nil, "any"}, {[]int{3}, "3"}, {[]int{0, 1}, "0-1"}, {[]int{6, 2, 0, 1, 2}, "0-2,6"}, {[]int{0, 2, 4}, "0,2,4"},
	} {
		if got := cpuList(tt.cpus); got != tt.want {
			t.Errorf("cpuList(%v): got %s, want %s", tt.cpus, got, tt.want)
		}
	}
}

func TestLabel(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"", ""}, {"abcdef", "abcdef"}, {"abcdefg", "ab…efg"}, {"a\nb  c", "a b c"}, {"äöüäöü", "äöüäöü"}, {"äöüßäöü", "äö…äöü"},
	} {
		if got := label(tt.name, 6); got != tt.want {
			t.Errorf("label(%q): got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestRoundTicks(t *testing.T) {
	labels := func(ticks []plot.Tick) (joined string) {
		for _, k := range ticks {
			joined += k.Label + " "
		}
		return joined
	}
	for _, tt := range []struct {
		low, high float64
		want      string
	}{
		{0, 270, "0 50 100 150 200 250 "},
		{0.9, 1.1, "0.9 0.95 1 1.05 1.1 "},
		{-12, 20, "−10 0 10 20 "},
		{-0.3, 0.3, "−0.3 −0.2 −0.1 0 0.1 0.2 0.3 "},
		{0, 12e6, "0 2\u202f000\u202f000 4\u202f000\u202f000 6\u202f000\u202f000 8\u202f000\u202f000 10\u202f000\u202f000 12\u202f000\u202f000 "},
	} {
		if got := labels(roundTicks{6}.Ticks(tt.low, tt.high)); got != tt.want {
			t.Errorf("from %v to %v: got %q, want %q", tt.low, tt.high, got, tt.want)
		}
	}
	if got, want := labels(decadeTicks{}.Ticks(10, 1e5)), "10 100 1000 10\u202f000 100\u202f000 "; got != want {
		// The ticks between the powers have no label.
		joined := ""
		for _, k := range (decadeTicks{}).Ticks(10, 1e5) {
			if !k.IsMinor() {
				joined += k.Label + " "
			}
		}
		if joined != want {
			t.Errorf("decades: got %q, want %q", joined, want)
		}
	}
}
