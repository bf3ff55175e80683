package main

import "testing"

func TestPrintable(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"plain", "a b/ü€😀", "a b/ü€😀"},
		{"line end", "a\nb", `a\nb`},
		{"tab and return", "\t\r", `\t\r`},
		{"escape sequence", "\x1b[2J", `\x1b[2J`},
		{"delete", "\x7f", `\x7f`},
		{"C1 control", "\u009b2J", `\u009b2J`},
		{"right to left", "a\u202eb", `a\u202eb`},
		{"not UTF-8", "a\xffb\xc3", `a\xffb\xc3`},
		{"replacement character itself", "\ufffd", "\ufffd"},
		{"tag character", "\U000e0041", `\U000e0041`},
		{"backslash", `a\nb`, `a\nb`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := printable(tt.in); got != tt.want {
				t.Errorf("printable(%q):\n got %q\nwant %q", tt.in, got, tt.want)
			}
		})
	}
}
