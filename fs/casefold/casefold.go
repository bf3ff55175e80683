// Package casefold makes of a name what names are compared by in the
// case-insensitive directories of ext4 and f2fs: the form that the kernel calls
// NFDICF (fs/unicode). That is full case folding, canonical decomposition and
// canonical order, without the code points that are ignored by default, of Unicode
// 12.1, the only version that file systems have.
package casefold

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/unicode/rangetable"
)

// Fold returns the form of a name by which it is compared. It is not ok for a name
// that is not UTF-8, or that has code points which are none in Unicode 12.1: such
// a name is compared as it is. Two names that fold to the same are the same name.
//
// It is safe for concurrent use.
func Fold(name string) (folded string, ok bool) {
	if folded, ok := foldASCII(name); ok {
		return folded, true
	}
	var marks []mark
	b := make([]byte, 0, 2*len(name))
	for rest := name; len(rest) > 0; {
		r, size := utf8.DecodeRuneInString(rest)
		if r == utf8.RuneError && size == 1 || !unicode.Is(assigned, r) {
			return "", false
		}
		if !unicode.Is(ignorable, r) {
			// One at a time, as norm puts something between many marks in a row.
			for _, part := range norm.NFD.String(foldRune(r, rest[:size])) {
				part := string(part)
				class := norm.NFD.PropertiesString(part).CCC()
				if class == 0 {
					b = flush(b, &marks)
					b = append(b, part...)
				} else {
					marks = append(marks, mark{part, class})
				}
			}
		}
		rest = rest[size:]
	}
	return string(flush(b, &marks)), true
}

// foldRune returns the full case folding of a code point. The small letters of
// Cherokee fold to the capital ones, which are older, and those to themselves; the
// library takes them to small ones.
func foldRune(r rune, s string) string {
	if cherokeeFirst <= r && r <= cherokeeLast {
		return s
	}
	return fold.String(s)
}

// The capital letters of Cherokee.
const cherokeeFirst, cherokeeLast = '\u13A0', '\u13F5'

// A mark is a code point with a combining class other than 0.
type mark struct {
	text  string
	class uint8
}

// flush appends marks in canonical order: by class, and within one as they were.
func flush(b []byte, marks *[]mark) []byte {
	slices.SortStableFunc(*marks, func(a, b mark) int { return int(a.class) - int(b.class) })
	for _, m := range *marks {
		b = append(b, m.text...)
	}
	*marks = (*marks)[:0]
	return b
}

// foldASCII is Fold for names of ASCII only, and not ok for others.
func foldASCII(name string) (string, bool) {
	upper := false
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return "", false
		}
		upper = upper || 'A' <= name[i] && name[i] <= 'Z'
	}
	if !upper {
		return name, true
	}
	b := []byte(name)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b), true
}

var fold = cases.Fold()

// assigned are the code points of Unicode 12.1, which has one more than 12.0.
var assigned = rangetable.Merge(rangetable.Assigned("12.0.0"), rangetable.New('\u32FF'))

// ignorable are those with the property Default_Ignorable_Code_Point in
// DerivedCoreProperties.txt of Unicode 12.1.
var ignorable = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x00AD, 0x00AD, 1},
		{0x034F, 0x034F, 1},
		{0x061C, 0x061C, 1},
		{0x115F, 0x1160, 1},
		{0x17B4, 0x17B5, 1},
		{0x180B, 0x180E, 1},
		{0x200B, 0x200F, 1},
		{0x202A, 0x202E, 1},
		{0x2060, 0x206F, 1},
		{0x3164, 0x3164, 1},
		{0xFE00, 0xFE0F, 1},
		{0xFEFF, 0xFEFF, 1},
		{0xFFA0, 0xFFA0, 1},
		{0xFFF0, 0xFFF8, 1},
	},
	R32: []unicode.Range32{
		{0x1BCA0, 0x1BCA3, 1},
		{0x1D173, 0x1D17A, 1},
		{0xE0000, 0xE0FFF, 1},
	},
	LatinOffset: 1,
}
