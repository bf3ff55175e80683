package main

import (
	"os/exec"
	"testing"
)

func TestNotIgnored(t *testing.T) {
	withDefaultSignals(t)
	for _, tt := range []struct{ ignored, want string }{
		{"", "[interrupt hangup stopped continued]"},
		{"INT", "[hangup stopped continued]"},
		{"TSTP", "[interrupt hangup continued]"},
		{"INT HUP TSTP CONT", "[]"},
	} {
		got, err := exec.Command("sh", "-c", "trap '' "+tt.ignored+"; exec notignored").Output()
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != tt.want+"\n" {
			t.Errorf("ignoring %q: got %swant %s", tt.ignored, got, tt.want)
		}
	}
}
