package fs

import "testing"

func TestSpanOf(t *testing.T) {
	for _, tt := range []struct {
		name string
		off  int64
		n    int
		want span
	}{
		{"a byte", 0, 1, span{0, 1, 0}},
		{"a unit", 0, 4096, span{0, 1, 0}},
		{"one more", 0, 4097, span{0, 2, 0}},
		{"last byte of a unit", 4095, 1, span{0, 1, 4095}},
		{"across an edge", 4095, 2, span{0, 2, 4095}},
		{"second unit", 4096, 4096, span{1, 1, 0}},
		{"inside, across two edges", 4100, 8192, span{1, 3, 4}},
		{"past 4 GiB", 1<<32 + 1, 4095, span{1 << 20, 1, 1}},
		{"near the end of what is possible", 1<<62 - 1, 1, span{1<<50 - 1, 1, 4095}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := spanOf(tt.off, tt.n, 4096); got != tt.want {
				t.Errorf("spanOf(%d, %d) = %+v, want %+v", tt.off, tt.n, got, tt.want)
			}
		})
	}
}
