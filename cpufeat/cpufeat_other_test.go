//go:build purego || !(amd64 || (arm64 && (linux || darwin)))

package cpufeat

import "testing"

func TestHostIsEmpty(t *testing.T) {
	if got := Host(); got != 0 {
		t.Errorf("got %v in a build without assembly", got)
	}
	if got := Host().Tier().Name; got != "generic" {
		t.Errorf("got tier %s, want generic", got)
	}
}
