package main

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// maxCPUs is more than the number of any CPU.
const maxCPUs = 8192

// onCPUs calls f on a thread that may use some CPUs only, which processes that f starts
// inherit.
func onCPUs(cpus []int, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, set := unix.NewCPUSet(maxCPUs), unix.NewCPUSet(maxCPUs)
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if err := unix.SchedGetaffinityDynamic(0, before); err != nil {
		return fmt.Errorf("sched_getaffinity: %w", err)
	}
	if err := unix.SchedSetaffinityDynamic(0, set); err != nil {
		return fmt.Errorf("sched_setaffinity: %w", err)
	}
	defer unix.SchedSetaffinityDynamic(0, before)
	return f()
}

// ownCPUs returns the CPUs that the process may use, ascending: those of its main
// thread.
func ownCPUs() ([]int, error) {
	set := unix.NewCPUSet(maxCPUs)
	if err := unix.SchedGetaffinityDynamic(unix.Getpid(), set); err != nil {
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	var cpus []int
	for cpu := range maxCPUs {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}
