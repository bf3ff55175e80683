package workqueue

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// subjectVariable is set in the environment of a process that a test starts from its
// own program, to change the affinity of its threads from outside.
const subjectVariable = "WORKQUEUE_TEST_SUBJECT"

func TestMain(m *testing.M) {
	if os.Getenv(subjectVariable) != "" {
		if err := runSubject(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A sighting is what a subject tells of a queue.
type sighting struct {
	Queue    string
	Ran      int   // items
	CPUs     []int // on which they ran
	Unpinned uint64
}

// runSubject makes queues of all policies, each on all CPUs and one on the first CPU
// only, and runs items on those that are asked for, "all" or "first", once for each
// line of in.
func runSubject(in io.Reader, out io.Writer) error {
	queues := map[string][]*Queue{}
	for _, a := range policies {
		q, err := New(a)
		if err != nil {
			return err
		}
		defer q.Close()
		queues["all"] = append(queues["all"], q)
		a.CPUs = q.machine.Topology.CPUs()[:1]
		first, err := New(a)
		if err != nil {
			return err
		}
		defer first.Close()
		queues["first"] = append(queues["first"], first)
	}
	for {
		var which string
		if _, err := fmt.Fscanln(in, &which); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var seen []sighting
		for _, q := range queues[which] {
			seen = append(seen, sight(q))
		}
		if err := json.NewEncoder(out).Encode(seen); err != nil {
			return err
		}
	}
}

const (
	subjectSubmitters = 8
	subjectRounds     = 50
	subjectItems      = 8
)

func sight(q *Queue) sighting {
	s := sighting{Queue: policyName(q.attrs)}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range subjectSubmitters {
		wg.Go(func() {
			var g Group
			works := items(subjectItems, func(*Work) {
				cpu := currentCPU()
				mu.Lock()
				defer mu.Unlock()
				s.Ran++
				if !slices.Contains(s.CPUs, cpu) {
					s.CPUs = append(s.CPUs, cpu)
				}
			})
			for range subjectRounds {
				for i := range works {
					g.Queue(q, &works[i])
				}
				g.Wait()
			}
		})
	}
	wg.Wait()
	slices.Sort(s.CPUs)
	s.Unpinned = q.Stats().Unpinned
	return s
}

// A subject is a process that runs runSubject.
type subject struct {
	t   *testing.T
	pid int
	in  io.Writer
	out *json.Decoder
}

// startSubject starts a subject, which ends with the test.
func startSubject(t *testing.T) *subject {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), subjectVariable+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); errors.Is(err, unix.ENOEXEC) {
		t.Skip("needs a test binary that the kernel can run, not one for an emulator")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return &subject{t, cmd.Process.Pid, in, json.NewDecoder(out)}
}

// run has items run on queues, all of which must run, and on allowed CPUs only.
func (s *subject) run(when, which string, allowed []int) []sighting {
	s.t.Helper()
	fmt.Fprintln(s.in, which)
	var seen []sighting
	if err := s.out.Decode(&seen); err != nil {
		s.t.Fatal(when, err)
	}
	for _, q := range seen {
		if want := subjectSubmitters * subjectRounds * subjectItems; q.Ran != want {
			s.t.Errorf("%s: %s ran %d items of %d", when, q.Queue, q.Ran, want)
		}
		for _, cpu := range q.CPUs {
			if !slices.Contains(allowed, cpu) {
				s.t.Errorf("%s: %s ran items on CPUs %v, but the process may use %v", when, q.Queue, q.CPUs, allowed)
				break
			}
		}
	}
	return seen
}

// shrink runs items while the process may use all CPUs, then the last only, and then
// all again.
func (s *subject) shrink(cpus []int, limit func(cpus []int)) {
	last := cpus[len(cpus)-1:]
	for _, q := range s.run("before", "all", cpus) {
		if q.Unpinned != 0 {
			s.t.Errorf("%s has %d workers that are not pinned", q.Queue, q.Unpinned)
		}
	}
	limit(last)
	s.run("on one CPU", "all", last)
	for _, q := range s.run("started late", "first", last) {
		pinned := q.Queue != policyName(Attrs{Kind: Inline}) // so they should be: the queue is on one CPU
		if (q.Unpinned > 0) != pinned {
			s.t.Errorf("%s for a CPU that is gone has %d workers that are not pinned", q.Queue, q.Unpinned)
		}
	}
	limit(cpus)
	s.run("on all again", "all", cpus)
	s.run("on all again, started late", "first", cpus)
}

// Somebody changes the affinity of all threads of the process, as taskset -ap does.
func TestAffinityChange(t *testing.T) {
	cpus := needCPUs(t, 2)
	s := startSubject(t)
	s.shrink(cpus, func(cpus []int) {
		set := unix.NewCPUSet(maxCPUs)
		for _, cpu := range cpus {
			set.Set(cpu)
		}
		// Again until there is no thread that came meanwhile.
		for changed := true; changed; {
			changed = false
			tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", s.pid))
			if err != nil {
				t.Fatal(err)
			}
			for _, task := range tasks {
				tid, err := strconv.Atoi(task.Name())
				if err != nil {
					t.Fatal(err)
				}
				if got := affinityOf(t, tid); got == nil || slices.Equal(got, cpus) {
					continue
				}
				changed = true
				if err := unix.SchedSetaffinityDynamic(tid, set); err != nil && err != unix.ESRCH {
					t.Fatal(err)
				}
			}
		}
	})
}

// Somebody changes the cpuset of the process.
func TestCpusetChange(t *testing.T) {
	cpus := needCPUs(t, 2)
	dir := newCpuset(t)
	write := func(file, value string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	limit := func(cpus []int) { write("cpuset.cpus", FormatCPUs(cpus)) }
	limit(cpus)
	s := startSubject(t)
	write("cgroup.procs", strconv.Itoa(s.pid))
	s.shrink(cpus, limit)
}

// newCpuset makes a cgroup with a cpuset of its own, in version 2 of the hierarchy
// or version 1, which is removed at the end of the test.
func newCpuset(t *testing.T) string {
	root := "/sys/fs/cgroup"
	controllers, err := os.ReadFile(filepath.Join(root, "cgroup.subtree_control"))
	v1 := err != nil
	if v1 {
		root = filepath.Join(root, "cpuset")
	} else if !slices.Contains(strings.Fields(string(controllers)), "cpuset") {
		t.Skip("needs the cpuset controller in ", filepath.Join(root, "cgroup.subtree_control"))
	}
	dir, err := os.MkdirTemp(root, "workqueue-test-")
	if err != nil {
		t.Skip("needs a cgroup hierarchy with cpusets that can be written to: ", err)
	}
	t.Cleanup(func() {
		waitFor(t, "the end of the cgroup", func() bool {
			err := os.Remove(dir) // while a process ends it is busy
			return err == nil || !errors.Is(err, unix.EBUSY)
		})
	})
	if v1 {
		mems, err := os.ReadFile(filepath.Join(root, "cpuset.mems"))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "cpuset.mems"), mems, 0o644)
		}
		if err != nil {
			t.Skip("needs a cpuset that can be written to: ", err)
		}
	}
	return dir
}
