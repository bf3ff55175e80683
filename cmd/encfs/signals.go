package main

import (
	"os"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A sigaction is the kernel's struct sigaction for a signal, and has room for more
// than any architecture has in it. Zero is SIG_DFL.
type sigaction [64]byte

// exchange puts to in the place of the action for s and stores that in from; either
// may be nil.
func exchange(s unix.Signal, to, from *sigaction) {
	const maskSize = 8
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(from)), maskSize, 0, 0)
}

// notIgnored returns those of the signals that the process does not ignore. To be
// notified of the others would undo what nohup(1), trap in a shell, or a shell that
// starts a command in the background of a script has asked for. Of SIGTERM and
// SIGQUIT it cannot be known: the Go runtime has put its own action there.
func notIgnored(signals ...os.Signal) []os.Signal {
	return slices.DeleteFunc(signals, func(s os.Signal) bool {
		const ignore = 1 // SIG_IGN
		var a sigaction
		exchange(s.(unix.Signal), nil, &a)
		// The handler is first, except on MIPS.
		return *(*uintptr)(unsafe.Pointer(&a)) == ignore
	})
}

// takeDefault does what a signal does to a program that does not handle it, which
// signal.Reset does not lead to: Go's handler stays, which prints stacks for SIGQUIT
// and drops SIGTSTP. The signal is the calling thread's, so that a stop is over when
// takeDefault returns.
func takeDefault(s unix.Signal) {
	var byDefault, before sigaction
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	exchange(s, &byDefault, &before)
	unix.Tgkill(os.Getpid(), unix.Gettid(), s)
	exchange(s, &before, nil)
}
