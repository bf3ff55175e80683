package workqueue

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hostMachine returns the machine that the process runs on, with the CPUs of
// its affinity mask: that of its main thread, which no worker ever changes.
func hostMachine() (Machine, error) {
	set, err := processCPUs()
	if err != nil {
		return Machine{}, err
	}
	var cpus []int
	for cpu := range maxCPUs {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return Machine{
		Topology:    readTopology(os.DirFS("/sys"), cpus),
		CurrentCPU:  currentCPU,
		Now:         stopwatch(),
		Start:       startGoroutine,
		StartThread: startThread,
		Pin:         pin,
		Renice:      renice,
		NewSleeper:  newSleeper,
		LeaveNext:   leaveNext,
		HandOver:    MeasureHandOver,
	}, nil
}

// processCPUs returns the affinity mask of the process, see hostMachine, as it is now.
func processCPUs() (unix.CPUSetDynamic, error) {
	set := unix.NewCPUSet(maxCPUs)
	if err := unix.SchedGetaffinityDynamic(unix.Getpid(), set); err != nil {
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	return set, nil
}

// currentCPU returns the CPU on which the caller runs, or ran a moment ago.
// getcpu(2) as a system call takes 100 to 200 ns; the vDSO's faster one cannot be
// called from Go.
func currentCPU() int {
	var cpu uint32
	if _, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); errno != 0 {
		return 0
	}
	return int(cpu)
}

// startThread calls f in a goroutine that has a thread of its own, which may be
// pinned and reniced: it ends with f, and the Go runtime starts no other thread
// from it that would inherit what it has. It is not the main thread, which
// cannot end, and whose affinity and nice value pass for those of the process.
func startThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		locked := make(chan struct{})
		go func() { // on another thread, as this one is taken
			runtime.LockOSThread()
			close(locked)
			f()
		}()
		<-locked
		runtime.UnlockOSThread()
	}()
}

// pin binds the calling thread to those of the CPUs that the process may use. If
// none is left of them the thread stays where it is: to leave the mask that
// somebody has given the process, as with taskset, the kernel would allow.
func pin(cpus []int) error {
	allowed, err := processCPUs()
	if err != nil {
		return err
	}
	set := unix.NewCPUSet(maxCPUs)
	for _, cpu := range cpus {
		if allowed.IsSet(cpu) {
			set.Set(cpu)
		}
	}
	if set.Count() == 0 {
		return errors.New("the process may not use any of the CPUs")
	}
	if err := unix.SchedSetaffinityDynamic(0, set); err != nil {
		return fmt.Errorf("sched_setaffinity: %w", err)
	}
	return nil
}

// renice sets the nice value of the calling thread: on Linux it is a thread's.
func renice(nice int) error {
	if err := unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), nice); err != nil {
		return fmt.Errorf("setpriority: %w", err)
	}
	return nil
}
