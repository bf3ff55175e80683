package workqueue

import (
	"slices"
	"strings"
	"testing"
)

func TestParseCPUs(t *testing.T) {
	tests := []struct {
		list   string
		want   []int
		format string // as FormatCPUs writes it
	}{
		{"0", []int{0}, "0"},
		{"0-3,6", []int{0, 1, 2, 3, 6}, "0-3,6"},
		{"6,0-3\n", []int{0, 1, 2, 3, 6}, "0-3,6"},
		{"5-5", []int{5}, "5"},
		{"1,2", []int{1, 2}, "1-2"},
		{"2-4,3-5,4", []int{2, 3, 4, 5}, "2-5"},
		{"0,2,4", []int{0, 2, 4}, "0,2,4"},
		{"8191", []int{8191}, "8191"},
	}
	for _, tt := range tests {
		got, err := ParseCPUs(tt.list)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("ParseCPUs(%q) = %v, %v, want %v", tt.list, got, err, tt.want)
		}
		if got := FormatCPUs(tt.want); got != tt.format {
			t.Errorf("FormatCPUs(%v) = %q, want %q", tt.want, got, tt.format)
		}
	}
	if got := FormatCPUs(nil); got != "" {
		t.Errorf("FormatCPUs(nil) = %q", got)
	}
}

func TestParseCPUsErrors(t *testing.T) {
	tests := []struct{ list, part string }{
		{"", `""`},
		{" \n", `""`},
		{"a", `"a"`},
		{"0,,1", `""`},
		{"0,", `""`},
		{"3-1", `"3-1"`},
		{"0-", `"0-"`},
		{"-1", `"-1"`},
		{"1-2-3", `"1-2-3"`},
		{"0, 1", `" 1"`},
		{"+1", `"+1"`},
		{"8192", `"8192"`},
		{"0-4294967296", `"0-4294967296"`},
		{"99999999999999999999", `"99999999999999999999"`},
	}
	for _, tt := range tests {
		got, err := ParseCPUs(tt.list)
		if err == nil || !strings.Contains(err.Error(), ": "+tt.part+" is neither") {
			t.Errorf("ParseCPUs(%q) = %v, %v, want an error that names %s", tt.list, got, err, tt.part)
		}
	}
}

func TestNames(t *testing.T) {
	for _, k := range []Kind{Bound, Unbound, Inline, Auto} {
		if got, err := ParseKind(k.String()); err != nil || got != k {
			t.Errorf("ParseKind(%q) = %v, %v", k, got, err)
		}
	}
	for _, s := range []Scope{ScopeCPU, ScopeSMT, ScopeCache, ScopeNUMA, ScopeSystem} {
		if got, err := ParseScope(s.String()); err != nil || got != s {
			t.Errorf("ParseScope(%q) = %v, %v", s, got, err)
		}
	}
	if got := new(Attrs); got.Kind.String() != "bound" || got.Scope.String() != "cache" {
		t.Errorf("zero Attrs are %v and %v, want bound and cache", got.Kind, got.Scope)
	}
	_, err := ParseKind("Bound")
	if want := `unknown kind of queue "Bound": known are bound, unbound, inline, auto`; err == nil || err.Error() != want {
		t.Errorf("ParseKind error:\n got %v\nwant %s", err, want)
	}
	_, err = ParseScope("")
	if want := `unknown affinity scope "": known are cache, cpu, smt, numa, system`; err == nil || err.Error() != want {
		t.Errorf("ParseScope error:\n got %v\nwant %s", err, want)
	}
}
