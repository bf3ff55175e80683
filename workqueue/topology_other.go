//go:build !linux

package workqueue

import (
	"errors"
	"math/rand/v2"
	"runtime"
)

// hostMachine returns a machine whose CPUs are numbered but otherwise alike.
// Threads cannot be pinned, and the current CPU is a guess that spreads items.
func hostMachine() (Machine, error) {
	n := runtime.NumCPU()
	var t Topology
	for cpu := range n {
		t = append(t, Place{CPU: cpu, Core: cpu})
	}
	unsupported := func(...int) error { return errors.ErrUnsupported }
	return Machine{
		Topology:    t,
		CurrentCPU:  func() int { return rand.IntN(n) },
		Now:         stopwatch(),
		Start:       startGoroutine,
		StartThread: startGoroutine,
		Pin:         func([]int) error { return unsupported() },
		Renice:      func(int) error { return unsupported() },
		NewSleeper:  newSleeper,
		LeaveNext:   leaveNext,
		HandOver:    MeasureHandOver,
	}, nil
}
