package bench

import (
	"time"

	"encfs/fs"
	"encfs/histogram"
	"encfs/workqueue"
	"encfs/workqueue/simulate"
)

// ProcsPerCPU is how many goroutines the server of a mount runs at a time for each CPU, by
// GOMAXPROCS. While all CPUs are busy, the scheduler of the kernel then divides them, as it
// does in the model, and Go's lets nobody wait.
const ProcsPerCPU = 2

// A fuseServer is the process behind a mount in the model. As in go-fuse, a thread that has
// taken a request starts another one if nobody else reads, and serves it; then it
// takes the next, or waits for one unless maxReaders do: GOMAXPROCS, from 2 to 16.
type fuseServer struct {
	model      *tarModel
	start      func(func()) // starts a goroutine
	maxReaders int
	pending    []*fuseRequest // that nobody has taken
	idle       []*fuseThread  // the one that waits longest first
	awake      int            // threads that look for a request or were woken to
	ended      time.Duration  // when the last job was
	stops      bool
}

// A fuseRequest is a request of a job: a READ of data units, or another that is work for
// the server.
type fuseRequest struct {
	job      *modelTar
	units    int
	work     time.Duration
	answered bool
}

// A fuseThread is a thread of the server, with what it needs for a READ.
type fuseThread struct {
	server  *fuseServer
	self    *simulate.Thread
	device  workqueue.Sleeper // where it waits for a request
	request *fuseRequest

	loop    workqueue.Loop
	arrival workqueue.Work
	arrived time.Duration // when the ciphertext was there
	cpu     int           // on which that was
	done    bool          // it is decrypted already
}

func (s *fuseServer) init(m *tarModel, start func(func())) {
	s.model, s.start = m, start
	s.maxReaders = min(max(2, ProcsPerCPU*len(m.topology)), 16)
	s.awake = 1
	t := s.newThread()
	m.world.StartGoroutine(t.run)
}

func (s *fuseServer) newThread() *fuseThread {
	t := &fuseThread{server: s, device: s.model.world.NewSleeper()}
	t.loop.Init(t.decrypt)
	t.arrival.Init(t.arrive)
	return t
}

// take is given a request, and wakes a thread that waits for one.
func (s *fuseServer) take(r *fuseRequest) {
	s.pending = append(s.pending, r)
	if len(s.idle) > 0 {
		t := s.idle[0]
		s.idle = s.idle[1:]
		s.awake++
		t.device.Wake()
	}
}

// stop ends the threads, now or when they have answered.
func (s *fuseServer) stop() {
	s.stops = true
	for _, t := range s.idle {
		t.device.Wake()
	}
}

// run is what a thread of the server does. It counts as awake when it starts.
func (t *fuseThread) run(self *simulate.Thread) {
	t.self = self
	s := t.server
	for {
		if len(s.pending) > 0 {
			t.request = s.pending[0]
			s.pending = s.pending[1:]
			s.awake--
			if s.awake+len(s.idle) == 0 {
				s.awake++
				another := s.newThread()
				s.start(func() { another.run(s.model.world.Current()) })
			}
			t.serve(t.request)
			s.awake++
			continue
		}
		s.awake--
		if s.stops || len(s.idle) >= s.maxReaders {
			return
		}
		s.idle = append(s.idle, t)
		t.device.Sleep(nil)
		if s.stops {
			return
		}
	}
}

// serve answers a request.
func (t *fuseThread) serve(r *fuseRequest) {
	m := t.server.model
	t.self.Use(m.vary(m.times.Receive + r.work))
	if r.units > 0 {
		t.read(r)
	}
	t.self.Use(m.vary(m.times.Answer + time.Duration(r.units)*m.times.AnswerUnit))
	r.answered = true
	if r.job.waitsFor == r {
		r.job.page.Wake()
	}
	t.self.Use(m.times.Rest)
}

// read does what fs does for a READ, with the parts of it that take time.
func (t *fuseThread) read(r *fuseRequest) {
	m := t.server.model
	start := m.world.Now()
	t.done = false
	if m.completion != nil {
		t.loop.StartBy(m.completion, &t.arrival)
		m.must(t.loop.Wait())
	} else {
		t.arrive(nil)
	}
	if !t.done {
		m.must(t.loop.Run(m.queue, r.units, itemUnits, fs.ShareableWork(r.units, m.unit), nil))
	}
	m.lowerRead.Record(t.arrived - start)
	m.decrypt.Record(m.world.Now() - t.arrived)
	m.read.Record(m.world.Now() - start)
}

// itemUnits is how many data units a work item has.
const itemUnits = fs.ItemSize / pageSize

// arrive reads ciphertext. Where that is the task of certain CPUs, the decryption is
// queued there, if it is not the reader's own.
func (t *fuseThread) arrive(onCompletion *workqueue.Work) {
	m := t.server.model
	units := t.request.units
	self := m.world.Current()
	self.Use(m.times.LowerRead + time.Duration(units)*m.times.LowerUnit)
	t.arrived, t.cpu = m.world.Now(), self.CPU()
	kind := m.cell.Queue.Kind
	if onCompletion != nil && (kind == workqueue.Bound || kind == workqueue.Unbound) {
		t.done = true
		t.loop.Start(m.queue, units, itemUnits)
	}
}

// decrypt decrypts some units, which are in the cache of the CPU that has read them.
func (t *fuseThread) decrypt(from, to int) {
	m := t.server.model
	self := m.world.Current()
	if m.unit == 0 {
		return
	}
	distance := m.topology.Distance(t.cpu, self.CPU())
	self.Use(time.Duration(to-from) * (m.unit + m.times.Move[distance]))
}

// must is for errors that items of the model do not have.
func (m *tarModel) must(err error) {
	if err != nil {
		panic("bench: " + err.Error())
	}
}

func distributionOf(h *histogram.Histogram) Distribution {
	var s histogram.Snapshot
	h.AddTo(&s)
	return distributionOfSnapshot(&s)
}

func distributionOfSnapshot(s *histogram.Snapshot) Distribution {
	var d Distribution
	for at, n := range s.All() {
		d = append(d, LatencyBucket{float64(at.Nanoseconds()) / 1e3, n})
	}
	return d
}
