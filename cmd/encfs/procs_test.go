package main

import (
	"runtime"
	"testing"
)

func TestSpareProcs(t *testing.T) {
	was := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(was)
	for _, tt := range []struct {
		name, env string
		want      int
	}{
		{"by the CPUs", "", 6},
		{"as somebody says", "3", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("GOMAXPROCS", tt.env)
			runtime.GOMAXPROCS(3)
			spareProcs()
			if got := runtime.GOMAXPROCS(0); got != tt.want {
				t.Errorf("GOMAXPROCS is %d, want %d", got, tt.want)
			}
		})
	}
}
