package casefold

import (
	"hash/crc32"
	"strings"
	"testing"
)

func TestFold(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"ASCII", "MixedCase.TXT-[`@{", "mixedcase.txt-[`@{"},
		{"lower ASCII", "abc", "abc"},
		{"sharp s", "StraßE", "strasse"},
		{"capital sharp s", "ẞ", "ss"},
		{"composed", "É", "e\u0301"},
		{"decomposed", "E\u0301", "e\u0301"},
		{"dotted I", "İ", "i\u0307"},
		{"dotless i", "ı", "ı"},
		{"Kelvin, Ångström", "\u212A\u212B", "ka\u030A"},
		{"final sigma", "ΣΑΣς", "σασσ"},
		{"iota below", "ᾳΑ\u0345", "αιαι"},
		{"ligature", "ﬃ", "ffi"},
		{"Hangul", "각", "\u1100\u1161\u11A8"},
		{"soft hyphen, joiner, BOM", "a\u00ADb\u200Dc\uFEFF", "abc"},
		{"only ignorable", "\u200B", ""},
		{"order of marks", "a\u0301\u0323", "a\u0323\u0301"},
		{"order of marks, composed", "á\u0323", "a\u0323\u0301"},
		{"marks of one class", "a\u0301\u0300", "a\u0301\u0300"},
		{"marks over something ignorable", "a\u0301\u200D\u0323", "a\u0323\u0301"},
		{"more marks than norm takes", "a" + strings.Repeat("\u0301", 40) + "\u0323", "a\u0323" + strings.Repeat("\u0301", 40)},
		{"Cherokee capital", "Ꭰ", "Ꭰ"},
		{"Cherokee small", "ꭰ", "Ꭰ"},
		{"Cherokee small, old", "ᏸ", "Ᏸ"},
		{"the one of 12.1", "\u32FF", "\u32FF"},
		{"private use", "\uE000", "\uE000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := Fold(tt.in)
			if got != tt.want || !ok {
				t.Errorf("Fold(%+q) = %+q, %v; want %+q", tt.in, got, ok, tt.want)
			}
			if again, _ := Fold(got); again != got {
				t.Errorf("folded once more: %+q", again)
			}
		})
	}
}

func TestNotFolded(t *testing.T) {
	for _, tt := range []struct{ name, in string }{
		{"not UTF-8", "a\xFF"},
		{"cut", "a\xC3"},
		{"too long", "\xC0\x80"},
		{"surrogate", "\xED\xA0\x80"},
		{"beyond the last", "\xF4\x90\x80\x80"},
		{"no character", "\uFFFE"},
		{"of Unicode 13", "\U0001FAC0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := Fold(tt.in); ok {
				t.Errorf("Fold(%q) = %q", tt.in, got)
			}
		})
	}
}

// TestEach folds every code point of Unicode 12.1 and compares a checksum. It is
// that of Python 3.11's unicodedata.normalize("NFD", c.casefold()), or of nothing
// for those that are ignored, with a line end behind each.
func TestEach(t *testing.T) {
	const wantCount, want = 275461, 0xbdf6548a
	sum, count := crc32.NewIEEE(), 0
	for r := rune(1); r <= 0x10FFFF; r++ {
		if 0xD800 <= r && r <= 0xDFFF {
			continue
		}
		if folded, ok := Fold(string(r)); ok {
			sum.Write([]byte(folded + "\n"))
			count++
		}
	}
	if sum.Sum32() != want || count != wantCount {
		t.Errorf("%d code points with sum %#08x, want %d with %#08x", count, sum.Sum32(), wantCount, want)
	}
}

func FuzzFold(f *testing.F) {
	f.Add("StraßE\u0301\u0323")
	f.Fuzz(func(t *testing.T, name string) {
		folded, ok := Fold(name)
		if again, stillOK := Fold(folded); ok && (again != folded || !stillOK) {
			t.Errorf("Fold(%+q) = %+q, and then %+q", name, folded, again)
		}
	})
}
