package dirstore

import (
	"math"
	"testing"

	"encfs/fs/store"
)

// The rows are worked out by hand from the table in the format.
func TestLayout(t *testing.T) {
	const inline, blocks = store.LayoutInline, store.LayoutBlocks
	for _, v := range []struct {
		lower  int64
		layout store.Layout
		size   int64
	}{
		{0, store.LayoutEmpty, 0},
		{128 + 16 + 1, inline, 1},
		{128 + 16 + 15, inline, 15},
		{128 + 16, inline, 16},
		{128 + 32 + 1, inline, 17},
		{128 + 3952 + 15, inline, 3951},
		{128 + 3952, inline, 3952},
		{4096, blocks, 0},
		{8192 + 1, blocks, 1},
		{8192 + 3952, blocks, 3952},
		{8192 + 3953, blocks, 3953},
		{8192 + 4095, blocks, 4095},
		{8192, blocks, 4096},
		{12288 + 1, blocks, 4097},
		{12288 + 4095, blocks, 8191},
		{12288, blocks, 8192},
		{16384 + 1, blocks, 8193},
		{4096 + 1<<40, blocks, 1 << 40},
		{4096 + 1<<40 + 4096 + 5, blocks, 1<<40 + 5},
		{math.MaxInt64, blocks, maxSize - 1},
		{math.MaxInt64 - 4095, blocks, maxSize},
	} {
		layout, size, ok := plainSize(v.lower)
		if !ok || layout != v.layout || size != v.size {
			t.Errorf("plainSize(%d) = %d, %d, %v, want %d, %d", v.lower, layout, size, ok, v.layout, v.size)
		}
		if got := lowerSize(v.layout, v.size); got != v.lower {
			t.Errorf("lowerSize(%d, %d) = %d, want %d", v.layout, v.size, got, v.lower)
		}
	}
}

func TestLayoutDamaged(t *testing.T) {
	damaged := func(l int64) bool {
		return 0 < l && l < 128 || 128 < l && l < 144 || 4096 < l && l < 8192
	}
	for l := int64(0); l < 20000; l++ {
		layout, size, ok := plainSize(l)
		switch {
		case ok == damaged(l):
			t.Errorf("plainSize(%d) says %v", l, ok)
		case !ok && size != 0:
			t.Errorf("plainSize(%d) = %d for a damaged size", l, size)
		case l == 128: // a header and nothing else
			if layout != store.LayoutEmpty || size != 0 {
				t.Errorf("plainSize(%d) = %d, %d", l, layout, size)
			}
		case ok && lowerSize(layout, size) != l:
			t.Errorf("lowerSize(plainSize(%d)) = %d", l, lowerSize(layout, size))
		}
	}
}

// The lower size of a file grows with it, but for the last byte of a granule,
// and files that differ in size differ in lower size.
func TestLayoutInverse(t *testing.T) {
	for size := int64(0); size < 20000; size++ {
		for _, layout := range []store.Layout{store.LayoutInline, store.LayoutBlocks} {
			if layout == store.LayoutInline && (size == 0 || size > inlineMax) {
				continue
			}
			gotLayout, got, ok := plainSize(lowerSize(layout, size))
			if !ok || got != size || gotLayout != layout {
				t.Errorf("plainSize(lowerSize(%d, %d)) = %d, %d, %v", layout, size, gotLayout, got, ok)
			}
		}
	}
}
