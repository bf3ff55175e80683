package main

import (
	"os"
	"runtime"

	"encfs/cmd/encfs/internal/bench"
)

// spareProcs lets a server run as many goroutines at a time as the model of bench
// simulate reckons with, unless the environment says how many they are. It goes by
// the CPUs that Go has found, which are those of the affinity mask, or fewer if a
// cgroup limits their time.
//
// Go takes a CPU from a goroutine after 10 ms, Linux from a thread as soon as another
// has more of a right to it. With one goroutine for each CPU, requests that come while
// all CPUs decrypt with a slow cipher would wait for Go; with two, all CPUs can decrypt
// at the same time and requests are Linux's to schedule.
func spareProcs() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(bench.ProcsPerCPU * runtime.GOMAXPROCS(0))
	}
}
