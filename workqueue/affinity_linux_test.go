package workqueue

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// affinityOf returns the CPUs that a thread may run on, none if it has ended; 0
// is the calling one.
func affinityOf(t *testing.T, tid int) []int {
	set := unix.NewCPUSet(maxCPUs)
	if err := unix.SchedGetaffinityDynamic(tid, set); err == unix.ESRCH {
		return nil
	} else if err != nil {
		t.Error(err)
	}
	var cpus []int
	for cpu := range maxCPUs {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// onCPU calls f on a thread that is pinned to the CPU.
func onCPU(t *testing.T, cpu int, f func()) {
	done := make(chan struct{})
	startThread(func() {
		defer close(done)
		if err := pin([]int{cpu}); err != nil {
			t.Error(err)
			return
		}
		f()
	})
	<-done
}

// needCPUs returns the CPUs of the process, of which there must be n.
func needCPUs(t *testing.T, n int) []int {
	cpus := affinityOf(t, unix.Getpid())
	if len(cpus) < n {
		t.Skipf("needs %d CPUs, the process has %d", n, len(cpus))
	}
	return cpus
}

// waitFor waits until something is so that nobody tells of.
func waitFor(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("did not come: " + what)
		}
	}
}

// threads returns the thread IDs of the process.
func threads(t *testing.T) []int {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	var tids []int
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			t.Fatal(err)
		}
		tids = append(tids, tid)
	}
	return tids
}

func TestBoundRunsWhereQueued(t *testing.T) {
	cpus := needCPUs(t, 1)
	q, err := New(Attrs{Kind: Bound})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	for range 50 {
		for _, cpu := range cpus {
			onCPU(t, cpu, func() {
				var got int
				var affinity []int
				var w Work
				w.Init(func(*Work) { got, affinity = currentCPU(), affinityOf(t, 0) })
				q.Queue(&w)
				w.Wait()
				if got != cpu || !slices.Equal(affinity, []int{cpu}) {
					t.Errorf("queued on CPU %d: ran on %d, may run on %v", cpu, got, affinity)
				}
			})
		}
	}
	s := q.Stats()
	for _, c := range s.ByCPU {
		if c.Executed != 50 {
			t.Errorf("CPU %d executed %d items, want 50", c.CPU, c.Executed)
		}
	}
	if s.Unpinned != 0 {
		t.Errorf("%d workers are not pinned", s.Unpinned)
	}
}

// A queue on some CPUs keeps to them, whatever its kind.
func TestCPUs(t *testing.T) {
	cpus := needCPUs(t, 2)
	for _, a := range policies {
		if a.Kind == Inline {
			continue
		}
		t.Run(policyName(a), func(t *testing.T) {
			a.CPUs = cpus[1:2]
			q, err := New(a)
			if err != nil {
				t.Fatal(err)
			}
			defer q.Close()
			for _, cpu := range cpus {
				onCPU(t, cpu, func() {
					var w Work
					w.Init(func(*Work) {
						if got := currentCPU(); got != cpus[1] {
							t.Errorf("queued on CPU %d: ran on %d", cpu, got)
						}
					})
					q.Queue(&w)
					w.Wait()
				})
			}
		})
	}
}

// An unbound item does not wait for a CPU that is busy, a bound one does.
func TestUnboundRunsElsewhere(t *testing.T) {
	cpus := needCPUs(t, 2)
	for _, scope := range []Scope{ScopeCPU, ScopeCache, ScopeSystem} {
		t.Run(scope.String(), func(t *testing.T) {
			q, err := New(Attrs{Kind: Unbound, Scope: scope})
			if err != nil {
				t.Fatal(err)
			}
			defer q.Close()
			onCPU(t, cpus[0], func() {
				var stop atomic.Bool
				busy, w := items(1, func(*Work) {
					for !stop.Load() {
					}
				}), items(1, func(*Work) { stop.Store(true) })
				for range 50 {
					stop.Store(false)
					q.Queue(&busy[0])
					q.Queue(&w[0])
					w[0].Wait() // without w the first does not end
					busy[0].Wait()
				}
			})
		})
	}
}

func TestStrictIsPinned(t *testing.T) {
	cpus := needCPUs(t, 1)
	for _, scope := range []Scope{ScopeCPU, ScopeSystem} {
		t.Run(scope.String(), func(t *testing.T) {
			q, err := New(Attrs{Kind: Unbound, Scope: scope, Strict: true})
			if err != nil {
				t.Fatal(err)
			}
			defer q.Close()
			onCPU(t, cpus[0], func() {
				want := cpus
				if scope == ScopeCPU {
					want = cpus[:1]
				}
				w := items(1, func(*Work) {
					if got := affinityOf(t, 0); !slices.Equal(got, want) {
						t.Errorf("a worker may run on %v, want %v", got, want)
					}
				})
				q.Queue(&w[0])
				w[0].Wait()
			})
		})
	}
}

func TestNice(t *testing.T) {
	nice := func(tid int) int {
		got, err := unix.Getpriority(unix.PRIO_PROCESS, tid)
		if err != nil {
			t.Error(err)
		}
		return 20 - got // as the system call returns it
	}
	before := nice(unix.Getpid())
	if before >= maxNice {
		t.Skip("needs a nice value that can be raised")
	}
	q, err := New(Attrs{Kind: Unbound, Nice: before + 1})
	if err != nil {
		t.Fatal(err)
	}
	w := items(1, func(*Work) {
		if got, want := nice(unix.Gettid()), before+1; got != want {
			t.Errorf("nice value of the worker is %d, want %d", got, want)
		}
	})
	q.Queue(&w[0])
	w[0].Wait()
	q.Close()
	if got := nice(unix.Getpid()); got != before {
		t.Errorf("nice value of the process is %d, want %d", got, before)
	}
}

// Threads that were pinned end with the queue, and no other thread, the main one
// among them, has their affinity or nice value at any time.
func TestThreadsEnd(t *testing.T) {
	cpus := needCPUs(t, 1)
	before := threads(t)
	for range 20 {
		q, err := New(Attrs{Kind: Bound, Nice: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, cpu := range cpus {
			onCPU(t, cpu, func() {
				w := items(1, func(*Work) {
					if unix.Gettid() == unix.Getpid() {
						t.Error("the main thread is a worker")
					}
				})
				q.Queue(&w[0])
				w[0].Wait()
			})
		}
		if got := affinityOf(t, unix.Getpid()); !slices.Equal(got, cpus) {
			t.Fatalf("the process may run on %v, want %v", got, cpus)
		}
		q.Close()
	}
	// The runtime keeps some threads of its own, but not one for each worker.
	waitFor(t, "the end of the pinned threads", func() bool {
		tasks := threads(t)
		return len(tasks) < len(before)+20 && !slices.ContainsFunc(tasks, func(tid int) bool {
			got := affinityOf(t, tid)
			return got != nil && !slices.Equal(got, cpus)
		})
	})
}

// Many goroutines queue, wait, cancel and flush at once, and max_active holds.
func TestStress(t *testing.T) {
	const submitters, rounds, perRead = 50, 40, 8
	for _, a := range policies {
		for _, a.MaxActive = range []int{0, 1} {
			t.Run(fmt.Sprintf("%s/max_active %d", policyName(a), a.MaxActive), func(t *testing.T) {
				q, err := New(a)
				if err != nil {
					t.Fatal(err)
				}
				limit := int64(a.MaxActive)
				if limit == 0 {
					limit = int64(len(q.machine.Topology))
				}
				var inFlight, ran, takenBack atomic.Int64
				closed := make(chan struct{})
				close(closed)
				var wg sync.WaitGroup
				for s := range submitters {
					wg.Go(func() {
						var g Group
						buffer := make([]int, perRead) // plain, for the race detector
						works := make([]Work, perRead)
						for i := range works {
							works[i].Init(func(*Work) {
								if n := inFlight.Add(1); n > limit && a.Kind != Inline {
									t.Errorf("%d items in flight, max_active %d", n, limit)
								}
								buffer[i]++
								if i%3 == 0 {
									runtime.Gosched()
								}
								inFlight.Add(-1)
								ran.Add(1)
							})
						}
						for round := range rounds {
							for i := range works {
								g.Queue(q, &works[i])
							}
							switch (s + round) % 4 {
							case 0:
								takenBack.Add(int64(g.Cancel()))
							case 1:
								g.WaitContext(closed)
								// Which were taken back cannot be told from outside.
							case 2:
								q.Flush()
								clear(buffer)
								fallthrough
							default:
								if err := g.Wait(); err != nil {
									t.Error(err)
								}
							}
							clear(buffer)
						}
					})
				}
				wg.Wait()
				q.Close()
				if got := q.Stats().Executed; got != uint64(ran.Load()) {
					t.Errorf("Stats().Executed = %d, want %d", got, ran.Load())
				}
				if inFlight.Load() != 0 {
					t.Errorf("%d items in flight after Close", inFlight.Load())
				}
			})
		}
	}
}

// Of several that take an item back at once, one does.
func TestCancelAtOnce(t *testing.T) {
	q, err := New(Attrs{Kind: Bound, CPUs: needCPUs(t, 1)[:1]})
	if err != nil {
		t.Fatal(err)
	}
	g := newGate()
	q.Queue(&g.Work)
	waitFor(t, "the start of the gate", g.running.Load)
	w := items(1, func(*Work) { t.Error("an item ran that was taken back") })
	for range 2000 {
		q.Queue(&w[0])
		var n atomic.Int64
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if q.Cancel(&w[0]) {
					n.Add(1)
				}
			})
		}
		wg.Wait()
		if n.Load() != 1 {
			t.Fatalf("an item was taken back %d times", n.Load())
		}
	}
	close(g.open)
	q.Close()
}

// All tests pass with one CPU in the affinity mask.
func TestOneCPU(t *testing.T) {
	if os.Getenv("WORKQUEUE_TEST_ONE_CPU") != "" {
		t.Skip("runs on one CPU")
	}
	cpus := needCPUs(t, 2)
	notNative := false
	onCPU(t, cpus[1], func() {
		// A process that is started from a pinned thread has its affinity.
		cmd := exec.Command(os.Args[0], "-test.run=Bound|Strict|CPUs|Stress|Unbound|Threads|Allocs|Nice", "-test.timeout=60s")
		cmd.Env = append(os.Environ(), "WORKQUEUE_TEST_ONE_CPU=1")
		out, err := cmd.CombinedOutput()
		if errors.Is(err, unix.ENOEXEC) {
			notNative = true
		} else if err != nil {
			t.Errorf("on CPU %d alone: %v\n%s", cpus[1], err, bytes.TrimSpace(out))
		}
	})
	if notNative {
		t.Skip("needs a test binary that the kernel can run, not one for an emulator")
	}
}
