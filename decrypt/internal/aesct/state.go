package aesct

// A state has planes 0 to 3 in a and 4 to 7 in b, the lowest first. Byte 4c + r of
// the block is row r of column c, as in FIPS 197, section 3.4; so in each plane four
// neighbouring bits are a column.
type state struct{ a, b uint64 }

// slice returns the state of the block with bytes 0 to 7 in lo and 8 to 15 in hi,
// the lowest first.
func slice(lo, hi uint64) state {
	lo, hi = transpose(lo), transpose(hi)
	return state{
		spread(lo) | spread(hi)<<8,
		spread(lo>>32) | spread(hi>>32)<<8,
	}
}

// unslice is the inverse of slice.
func (s state) unslice() (lo, hi uint64) {
	return transpose(gather(s.a) | gather(s.b)<<32),
		transpose(gather(s.a>>8) | gather(s.b>>8)<<32)
}

// transpose exchanges bit j of byte i with bit i of byte j, for all i and j.
func transpose(x uint64) uint64 {
	for _, step := range [...]struct {
		shift uint
		mask  uint64
	}{
		{7, 0x00AA00AA00AA00AA},  // in squares of 2 by 2 bits
		{14, 0x0000CCCC0000CCCC}, // of 4 by 4, squares of 2 by 2
		{28, 0x00000000F0F0F0F0},
	} {
		t := (x ^ x>>step.shift) & step.mask
		x ^= t ^ t<<step.shift
	}
	return x
}

// spread returns the four low bytes of x in the even ones.
func spread(x uint64) uint64 {
	x &= 0x00000000FFFFFFFF
	x = (x | x<<16) & 0x0000FFFF0000FFFF
	return (x | x<<8) & 0x00FF00FF00FF00FF
}

// gather returns the even bytes of x in the four low ones.
func gather(x uint64) uint64 {
	x &= 0x00FF00FF00FF00FF
	x = (x | x>>8) & 0x0000FFFF0000FFFF
	return (x | x>>16) & 0x00000000FFFFFFFF
}

func (s state) xor(t state) state { return state{s.a ^ t.a, s.b ^ t.b} }

// each is a plane in all four places.
const each = 0x0001000100010001

// shiftRows turns row r of each plane by r columns. The lowest bit of row r is bit r.
func (s state) shiftRows() state {
	shift := func(x uint64) uint64 {
		return x&(each*0x1111) |
			x>>4&(each*0x0222) | x<<12&(each*0x2000) |
			x>>8&(each*0x0044) | x<<8&(each*0x4400) |
			x>>12&(each*0x0008) | x<<4&(each*0x8880)
	}
	return state{shift(s.a), shift(s.b)}
}

// invShiftRows is the inverse of shiftRows.
func (s state) invShiftRows() state {
	shift := func(x uint64) uint64 {
		return x&(each*0x1111) |
			x<<4&(each*0x2220) | x>>12&(each*0x0002) |
			x<<8&(each*0x4400) | x>>8&(each*0x0044) |
			x<<12&(each*0x8000) | x>>4&(each*0x0888)
	}
	return state{shift(s.a), shift(s.b)}
}

// up returns s with the rows of each column moved up by one, row 0 to the end.
func (s state) up() state {
	up := func(x uint64) uint64 { return x>>1&(each*0x7777) | x<<3&(each*0x8888) }
	return state{up(s.a), up(s.b)}
}

// up2 is up twice.
func (s state) up2() state {
	up2 := func(x uint64) uint64 { return x>>2&(each*0x3333) | x<<2&(each*0xCCCC) }
	return state{up2(s.a), up2(s.b)}
}

// double multiplies each byte by x in GF(2^8): every plane becomes the next one, and
// the last one is reduced to planes 0, 1, 3 and 4.
func (s state) double() state {
	top := s.b >> 48
	return state{s.a<<16 ^ top ^ top<<16 ^ top<<48, s.b<<16 ^ s.a>>48 ^ top}
}

// mixColumns computes, for bytes x, y, z and w from a row downwards, 2x + 3y + z + w as
// 2(x + y) + y + (z + w).
func (s state) mixColumns() state {
	y := s.up()
	sum := s.xor(y)
	return sum.double().xor(y).xor(sum.up2())
}

// invMixColumns is the inverse of mixColumns, whose matrix is that of mixColumns
// times one that adds 4(x + z) to x.
func (s state) invMixColumns() state {
	return s.xor(s.xor(s.up2()).double().double()).mixColumns()
}
