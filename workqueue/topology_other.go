//go:build !linux

package workqueue

import (
	"errors"
	"math/rand/v2"
	"runtime"
)

// hostMachine returns a machine whose CPUs are numbered but otherwise alike.
// Threads cannot be pinned, and the current CPU is a guess that spreads items.
func hostMachine() (machine, error) {
	n := runtime.NumCPU()
	var t topology
	for cpu := range n {
		t = append(t, cpuPlace{cpu: cpu, core: cpu})
	}
	unsupported := func(...int) error { return errors.ErrUnsupported }
	return machine{
		topology:    t,
		currentCPU:  func() int { return rand.IntN(n) },
		startThread: func(f func()) { go f() },
		pin:         func([]int) error { return unsupported() },
		renice:      func(int) error { return unsupported() },
		handOver:    measureHandOver,
	}, nil
}
