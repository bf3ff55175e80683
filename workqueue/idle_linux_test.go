package workqueue

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// There are no more workers than CPUs, and one that has nothing to do does not
// run: while all queues are idle, no thread of theirs is switched to once.
func TestIdleThreadsSleep(t *testing.T) {
	if testing.Short() {
		t.Skip("takes two seconds, during which nothing may happen")
	}
	cpus := needCPUs(t, 1)
	nice, err := unix.Getpriority(unix.PRIO_PROCESS, unix.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	workers := map[int]string{} // threads, and the queues that they work for
	for _, a := range policies {
		if a.Kind == Inline {
			continue
		}
		a.Nice = 20 - nice // that of the process, so that every worker has a thread
		if a.Nice == 0 {
			a.Nice = 1
		}
		q, err := New(a)
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 4 * len(cpus) {
			wg.Go(func() {
				var g Group
				works := items(64, func(*Work) {
					mu.Lock()
					workers[unix.Gettid()] = policyName(a)
					mu.Unlock()
				})
				for i := range works {
					g.Queue(q, &works[i])
				}
				g.Wait()
			})
		}
		wg.Wait()
		n := 0
		for _, queue := range workers {
			if queue == policyName(a) {
				n++
			}
		}
		if n == 0 || n > len(cpus) {
			t.Errorf("%s has %d workers on %d CPUs", policyName(a), n, len(cpus))
		}
	}
	before := map[int]int{}
	for tid := range workers {
		waitFor(t, "sleep", func() bool { return statusOf(t, tid, "State") == "S (sleeping)" })
		before[tid] = switches(t, tid)
	}
	time.Sleep(2 * time.Second)
	for tid, queue := range workers {
		if n := switches(t, tid) - before[tid]; n != 0 {
			t.Errorf("%s: an idle worker was woken %d times", queue, n)
		}
	}
}

// switches returns how often the thread has left its CPU.
func switches(t *testing.T, tid int) int {
	n := 0
	for _, name := range []string{"voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"} {
		k, err := strconv.Atoi(statusOf(t, tid, name))
		if err != nil {
			t.Fatal(err)
		}
		n += k
	}
	return n
}

// statusOf returns a field of the status of a thread, proc_pid_status(5).
func statusOf(t *testing.T, tid int, name string) string {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := bytes.Cut(status, []byte("\n"+name+":\t"))
	if !ok {
		t.Skipf("needs %s in /proc/PID/status", name)
	}
	value, _, _ := bytes.Cut(rest, []byte("\n"))
	return string(value)
}
