package main

import (
	"strings"
	"testing"
)

func TestChoice(t *testing.T) {
	for _, tt := range []struct{ name, set, want, err string }{
		{"known", "bound", "bound", ""},
		{"upper case", "BOUND", "bound", ""},
		{"default", "auto", "auto", ""},
		{"unknown", "fast", "auto", "known are auto, bound"},
		{"empty", "", "auto", "known are auto, bound"},
		{"part of one", "bou", "auto", "known are auto, bound"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newChoice("auto", "bound")
			err := c.Set(tt.set)
			if got := c.String(); got != tt.want {
				t.Errorf("value: got %q, want %q", got, tt.want)
			}
			checkError(t, err, tt.err)
		})
	}
}

// checkError checks that err says want, or is nil if want is empty.
func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case err == nil && want != "":
		t.Errorf("no error, want one with %q", want)
	case err != nil && (want == "" || !strings.Contains(err.Error(), want)):
		t.Errorf("error %q, want %q", err, want)
	}
}
