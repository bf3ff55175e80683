package fs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"encfs/workqueue"
)

// A request is interrupted when a signal comes for the thread that waits for it,
// whatever the signal does there: one that a handler takes, or that the program's
// runtime sends to itself, interrupts as well as SIGKILL.
//
// Programs do not expect EINTR from files, as "a disk is not a slow device", signal(7):
// many take it for an I/O error, and a page fault that gets it ends with SIGBUS. The
// kernel's file systems are therefore interrupted by what kills the process and by
// nothing else, and so is this one.

// interruptible calls f with the channel that is closed when the request of a
// thread is interrupted, and if f gives up for it but the thread lives on, once
// more with none.
func interruptible(cancel <-chan struct{}, tid uint32, f func(cancel <-chan struct{}) error) error {
	err := f(cancel)
	if errors.Is(err, workqueue.ErrCanceled) && !isKilled(tid) {
		err = f(nil)
	}
	return err
}

// isKilled reports whether a signal is ending the process of a thread. It may be
// any that does, as the kernel then makes SIGKILL pending for each thread
// (complete_signal in kernel/signal.c); the waiting one cannot act on it before the
// request is answered. Of a thread that cannot be looked at it is not known.
func isKilled(tid uint32) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return false
	}
	return pendingSignal(status, syscall.SIGKILL)
}

// pendingSignal reports whether a signal is pending for the thread whose
// /proc/PID/status this is.
func pendingSignal(status []byte, s syscall.Signal) bool {
	_, rest, _ := bytes.Cut(status, []byte("\nSigPnd:\t"))
	mask, _, _ := bytes.Cut(rest, []byte("\n"))
	set, err := strconv.ParseUint(string(mask), 16, 64)
	return err == nil && set>>(s-1)&1 == 1
}

// isClosed reports whether a channel that nobody sends to is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
