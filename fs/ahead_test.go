package fs_test

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"encfs/fs"
)

// Reading ahead, with requests as the kernel makes them. The kernel, the process that
// scans and others are in the test.
const (
	scannerPID = 100
	otherPID   = 200
)

// A scene is a directory "d" with some files, shown to the kernel by the scanner.
type scene struct {
	t *testing.T
	f *fs.FS
	v *fs.Volume

	dir   uint64            // number of d
	files map[string]uint64 // numbers that the kernel knows, by name
	known map[uint64]string // guarded by mu
	want  map[string][]byte

	mu      sync.Mutex
	stored  map[string]int // guarded by mu
	during  func(name string)
	storing atomic.Int32
}

func newScene(t *testing.T, files int) *scene {
	t.Helper()
	f, v := newFS(t)
	s := &scene{t: t, f: f, v: v, files: map[string]uint64{}, known: map[uint64]string{}, want: map[string][]byte{}, stored: map[string]int{}}
	f.TakeShortcuts(s.store)
	makeDir(t, v, "d")
	d, _, err := v.Walk("d")
	if err != nil {
		t.Fatal(err)
	}
	defer v.Release(d, 1)
	for k := range files {
		name := fmt.Sprint("f", k)
		s.want[name] = pattern(1+k*1000, byte(k))
		i, _, err := v.Create(d, name, 0o600, fs.AnyOwner)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.WriteAt(i, s.want[name], 0); err != nil {
			t.Fatal(err)
		}
		v.CloseFile(i)
		v.Release(i, 1)
	}
	// The scanner becomes one by reading what it finds in the root.
	for k := range 5 {
		i := create(t, v, fmt.Sprint("root", k), pattern(100, 1))
		v.CloseFile(i)
		v.Release(i, 1)
	}
	for name, number := range s.list(fuse.FUSE_ROOT_ID, scannerPID) {
		if name == "d" {
			s.dir = number
		} else {
			s.read(number, scannerPID)
		}
	}
	if s.dir == 0 {
		t.Fatal("d is not there")
	}
	return s
}

// store is the kernel's answer to FUSE_NOTIFY_STORE.
func (s *scene) store(number uint64, data []byte) fuse.Status {
	s.storing.Add(1)
	defer s.storing.Add(-1)
	s.mu.Lock()
	name, ok := s.known[number]
	s.mu.Unlock()
	if !ok {
		return fuse.ENOENT
	}
	if s.during != nil {
		s.during(name)
	}
	if !bytes.Equal(data, s.want[name]) {
		s.t.Errorf("%s: %d bytes are stored, want %d", name, len(data), len(s.want[name]))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored[name]++
	return fuse.OK
}

func header(node uint64, pid uint32) fuse.InHeader {
	return fuse.InHeader{NodeId: node, Caller: fuse.Caller{Pid: pid}}
}

// list lists a directory as getdents(2) does, and returns the numbers by name. The
// kernel knows of the entries when all replies have come.
func (s *scene) list(dir uint64, pid uint32) map[string]uint64 {
	s.t.Helper()
	entries := map[string]uint64{}
	s.listing(dir, pid, func(read func()) { read(); read() }, entries)
	return entries
}

func (s *scene) listing(dir uint64, pid uint32, during func(read func()), entries map[string]uint64) {
	s.t.Helper()
	var open fuse.OpenOut
	if st := s.f.OpenDir(nil, &fuse.OpenIn{InHeader: header(dir, pid)}, &open); !st.Ok() {
		s.t.Fatal(st)
	}
	defer s.f.ReleaseDir(&fuse.ReleaseIn{Fh: open.Fh})
	off := uint64(0)
	during(func() {
		out := fuse.NewDirEntryList(make([]byte, 64<<10), off)
		in := &fuse.ReadIn{InHeader: header(dir, pid), Fh: open.Fh, Offset: off}
		if st := s.f.ReadDirPlus(nil, in, out); !st.Ok() {
			s.t.Fatal(st)
		}
		list, outs, err := fuse.ParseDirLookupEntries(out.Bytes())
		if err != nil {
			s.t.Fatal(err)
		}
		for k, e := range list {
			if number := outs[k].NodeId; number != 0 {
				entries[e.Name] = number
				s.know(number, e.Name)
			}
			off = e.Off
		}
	})
}

func (s *scene) know(number uint64, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[number] = name
	s.files[name] = number
}

func (s *scene) read(number uint64, pid uint32) {
	s.t.Helper()
	_, st := s.f.Read(nil, &fuse.ReadIn{InHeader: header(number, pid), Size: 4096}, make([]byte, 4096))
	if !st.Ok() {
		s.t.Fatal(st)
	}
}

// enter is what the kernel asks when somebody goes into the directory. It reports
// whether it may remember the answer.
func (s *scene) enter(pid uint32) bool {
	s.t.Helper()
	var out fuse.AttrOut
	if st := s.f.GetAttr(nil, &fuse.GetAttrIn{InHeader: header(s.dir, pid)}, &out); !st.Ok() {
		s.t.Fatal(st)
	}
	if n := s.storing.Load(); n > 0 {
		s.t.Errorf("somebody is let in during %d stores", n)
	}
	return out.Timeout() > 0
}

func (s *scene) lookup(name string, pid uint32) {
	s.t.Helper()
	var out fuse.EntryOut
	h := header(s.dir, pid)
	if st := s.f.Lookup(nil, &h, name, &out); !st.Ok() || out.NodeId == 0 {
		s.t.Fatal(st)
	}
	s.know(out.NodeId, name)
}

// TestFence lets things happen between the steps of a scan.
func TestFence(t *testing.T) {
	const files = 40
	for _, tt := range []struct {
		name string
		do   func(s *scene)
		want int // files stored
	}{
		{"a scan", func(s *scene) {
			for range 3 { // stat, open, fstat
				if s.enter(scannerPID) {
					t.Error("the kernel may remember the attributes before the scan")
				}
			}
			s.list(s.dir, scannerPID)
			for range 2 {
				if !s.enter(scannerPID) {
					t.Error("the kernel may not remember the attributes after the scan")
				}
			}
		}, files - 1}, // and a probe
		{"somebody else goes in afterwards", func(s *scene) {
			s.list(s.dir, scannerPID)
			s.enter(otherPID)
		}, files - 1},
		{"somebody else goes in during a long store", func(s *scene) {
			var once sync.Once
			begun := make(chan struct{})
			s.during = func(string) {
				once.Do(func() {
					close(begun)
					time.Sleep(20 * time.Millisecond)
				})
			}
			s.list(s.dir, scannerPID)
			<-begun // by a worker
			s.enter(otherPID)
		}, files - 1},
		{"somebody else goes in before", func(s *scene) {
			if !s.enter(otherPID) {
				t.Error("somebody who does not scan is asked again")
			}
			s.list(s.dir, scannerPID)
			s.enter(scannerPID)
		}, 0},
		{"somebody else lists it", func(s *scene) {
			s.list(s.dir, otherPID)
			s.list(s.dir, scannerPID)
			s.enter(scannerPID)
		}, 0},
		{"somebody else goes in between two parts of the listing", func(s *scene) {
			s.listing(s.dir, scannerPID, func(read func()) {
				read()
				s.enter(otherPID)
				read()
			}, map[string]uint64{})
			s.enter(scannerPID)
		}, files - 1},
		{"somebody goes in before the kernel has got the listing", func(s *scene) {
			s.mu.Lock()
			s.known = nil // so that stores fail
			s.mu.Unlock()
			s.f.OpenDir(nil, &fuse.OpenIn{InHeader: header(s.dir, scannerPID)}, new(fuse.OpenOut))
			out := fuse.NewDirEntryList(make([]byte, 64<<10), 0)
			var open fuse.OpenOut
			s.f.OpenDir(nil, &fuse.OpenIn{InHeader: header(s.dir, scannerPID)}, &open)
			s.f.ReadDirPlus(nil, &fuse.ReadIn{InHeader: header(s.dir, scannerPID), Fh: open.Fh}, out)
			s.enter(otherPID)
			s.known = map[uint64]string{}
			s.list(s.dir, scannerPID)
			s.enter(scannerPID)
		}, 0},
		{"files are known already", func(s *scene) {
			s.lookup("f7", scannerPID)
			s.lookup("f8", scannerPID)
			s.list(s.dir, scannerPID)
			s.enter(scannerPID)
		}, files - 3},
		{"a file has another name", func(s *scene) {
			s.during = func(string) { runtime.Gosched() }
			s.list(s.dir, scannerPID)
			s.lookup("f7", otherPID) // on what way ever
			if n := s.storing.Load(); n > 0 {
				t.Errorf("a file is shown during %d stores", n)
			}
			before := len(s.storedNow())
			s.enter(scannerPID)
			if len(s.storedNow()) != before {
				t.Error("something was stored after somebody might have opened it")
			}
		}, -1},
		{"it is forgotten", func(s *scene) {
			entries := s.list(s.dir, scannerPID)
			for name, number := range entries {
				if name != "." && name != ".." {
					s.f.Forget(number, 1)
				}
			}
			s.f.Forget(s.dir, 1)
		}, -1},
		{"it is asked for too often", func(s *scene) {
			for range 20 {
				s.enter(scannerPID)
			}
			if !s.enter(scannerPID) {
				t.Error("the kernel never may remember the attributes")
			}
			s.list(s.dir, scannerPID)
			s.enter(scannerPID)
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t, files)
			tt.do(s)
			s.f.StopAhead()
			if tt.want >= 0 && len(s.stored) != tt.want {
				t.Errorf("%d files are stored, want %d: %v", len(s.stored), tt.want, s.stored)
			}
			for name, n := range s.stored {
				if n != 1 {
					t.Errorf("%s is stored %d times", name, n)
				}
			}
		})
	}
}

// TestFenceUnderLoad: nobody gets in during a store, whenever he comes.
func TestFenceUnderLoad(t *testing.T) {
	for range 20 {
		s := newScene(t, 30)
		s.during = func(string) { runtime.Gosched() }
		var group sync.WaitGroup
		group.Go(func() {
			s.enter(scannerPID)
			s.list(s.dir, scannerPID)
			s.enter(scannerPID)
		})
		for range 3 {
			group.Go(func() {
				for !s.enter(otherPID) {
				}
				before := len(s.storedNow())
				runtime.Gosched()
				if after := len(s.storedNow()); after != before {
					t.Errorf("%d files are stored after somebody was let in", after-before)
				}
			})
		}
		group.Wait()
		s.f.StopAhead()
	}
}

func (s *scene) storedNow() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]int{}
	for name, n := range s.stored {
		all[name] = n
	}
	return all
}
