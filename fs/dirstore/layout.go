package dirstore

import (
	"math"

	"encfs/fs/store"
)

// The arithmetic between the lower size of a regular file and its plaintext
// size. The lower size L alone gives layout and plaintext size s, so that
// attributes need no look into the file:
//
//	L              layout  s, with granule g = 16 inline and 4096 in blocks,
//	                       b = L - start, q = b / g, t = b mod g
//	0, 128         empty   0
//	1 ... 127      damaged
//	129 ... 4095   inline  start 128;  t = 0: g*q, else g*(q-1) + t with q >= 1
//	4096 ...       blocks  start 4096; the same
//
// That is, the data units rounded up to whole granules, then s mod g bytes, the
// tail, that mean nothing but their number.
const (
	unitShift   = 12
	unitSize    = 1 << unitShift // of a data unit, bytes
	bodyShift   = 12
	bodyOffset  = 1 << bodyShift // of data unit 0 in LayoutBlocks
	inlineUnit  = 16             // granule of a file's only data unit in LayoutInline
	inlineStart = headerSize     // offset of that unit
	inlineMax   = 3952           // largest size in LayoutInline

	// maxSize is the largest plaintext size whose lower size is an int64.
	maxSize = math.MaxInt64 - bodyOffset - unitSize + 1
)

// plainSize returns layout and plaintext size of a file of lower size l, and
// false for a lower size that no file has.
func plainSize(l int64) (layout store.Layout, size int64, ok bool) {
	start, granule := int64(bodyOffset), int64(unitSize)
	layout = store.LayoutBlocks
	switch {
	case l == 0, l == inlineStart: // a header alone says no more than none
		return store.LayoutEmpty, 0, true
	case l < inlineStart:
		return store.LayoutEmpty, 0, false
	case l < bodyOffset:
		start, granule, layout = inlineStart, inlineUnit, store.LayoutInline
	}
	q, t := (l-start)/granule, (l-start)%granule
	if t == 0 {
		return layout, granule * q, true
	}
	if q == 0 {
		return layout, 0, false
	}
	return layout, granule*(q-1) + t, true
}

// lowerSize returns the lower size of a file of the given layout and plaintext
// size, which is at most inlineMax in LayoutInline and maxSize in LayoutBlocks.
func lowerSize(layout store.Layout, size int64) int64 {
	switch layout {
	case store.LayoutInline:
		return inlineStart + roundUp(size, inlineUnit) + size%inlineUnit
	case store.LayoutBlocks:
		return unitOffset(unitCount(size)) + size%unitSize
	}
	return 0
}

// unitCount returns the number of data units of a file in LayoutBlocks.
func unitCount(size int64) int64 { return (size + unitSize - 1) >> unitShift }

// unitOffset returns the lower offset of a data unit in LayoutBlocks.
func unitOffset(unit int64) int64 { return bodyOffset + unit<<unitShift }

// roundUp rounds n up to a multiple of m.
func roundUp(n, m int64) int64 { return (n + m - 1) / m * m }
