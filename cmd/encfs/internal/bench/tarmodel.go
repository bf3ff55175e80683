package bench

import (
	"math/rand/v2"
	"time"

	"encfs/histogram"
	"encfs/workqueue"
	"encfs/workqueue/simulate"
)

// A TarCell is an experiment for the model: what tars read, through which queue, on
// which machine.
type TarCell struct {
	Shape      simulate.Shape
	Queue      workqueue.Attrs
	Driver     string // of the contents' cipher; empty for no encryption
	NoAES      bool   // the server does without the CPU's AES instructions
	Completion []int  // CPUs on which ciphertext arrives; none for that of the request
	Parts      [][]TreeFile
	Mounted    bool // otherwise the lower tree is read
	Warm       bool // the mount's page cache has all contents
}

// pageSize is the size of a page, and of a data unit, in bytes.
const pageSize = 4096

// A tarModel is a cell that runs.
type tarModel struct {
	cell     TarCell
	times    ServiceTimes
	world    *simulate.World
	topology workqueue.Topology

	queue      *workqueue.Queue
	completion *workqueue.Queue // nil if the request's own CPU reads
	server     fuseServer
	jobs       int // that have not ended

	unit   time.Duration // what decrypting a data unit takes
	random *rand.Rand

	read, lowerRead, decrypt histogram.Histogram
}

// Simulate runs a cell in the model and returns how long the tars took together, with
// the times of READ requests. What a job or a request takes varies by up to a tenth in
// either direction, at random, as it would; the seed says how. It depends on nothing but
// its arguments.
func (m ServiceTimes) Simulate(c TarCell, seed uint64) (time.Duration, ReadParts) {
	topology := c.Shape.Topology()
	w := simulate.New(topology, m.Machine)
	t := &tarModel{cell: c, times: m, world: w, topology: topology, jobs: len(c.Parts),
		random: seeded(seed)}
	t.unit, _ = m.Unit(c.Driver, c.NoAES)
	machine := w.Machine(m.HandOver)
	t.queue = mustQueue(workqueue.NewOn(machine, c.Queue))
	if len(c.Completion) > 0 {
		t.completion = mustQueue(workqueue.NewOn(machine, workqueue.Attrs{Kind: workqueue.Bound, CPUs: c.Completion}))
	}
	t.server.init(t, machine.Start)
	for _, files := range c.Parts {
		j := &modelTar{model: t, files: files, page: w.NewSleeper()}
		w.StartThread(j.run)
	}
	w.Run()
	t.queue.Close()
	if t.completion != nil {
		t.completion.Close()
	}
	wait := t.queue.Stats().Wait
	return t.server.ended, ReadParts{
		Read: distributionOf(&t.read), LowerRead: distributionOf(&t.lowerRead),
		QueueWait: distributionOfSnapshot(&wait), Decrypt: distributionOf(&t.decrypt),
	}
}

// mustQueue returns a queue whose attributes were checked.
func mustQueue(q *workqueue.Queue, err error) *workqueue.Queue {
	if err != nil {
		panic("bench: " + err.Error())
	}
	return q
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// vary returns a time that is as long on average.
func (t *tarModel) vary(d time.Duration) time.Duration {
	const part = 0.1
	return time.Duration(float64(d) * (1 - part + 2*part*t.random.Float64()))
}

// end is called by each job at its end. After the last one the queues and the server
// end.
func (t *tarModel) end() {
	if t.jobs--; t.jobs > 0 {
		return
	}
	t.server.ended = t.world.Now()
	t.queue.Stop()
	if t.completion != nil {
		t.completion.Stop()
	}
	t.server.stop()
}

// A modelTar is a tar, which reads one file after the other.
type modelTar struct {
	model *tarModel
	files []TreeFile
	self  *simulate.Thread

	page     workqueue.Sleeper // where it waits
	waitsFor *fuseRequest
}

func (j *modelTar) run(self *simulate.Thread) {
	j.self = self
	for _, f := range j.files {
		j.file(f)
	}
	j.model.end()
}

// file reads a file: lstat, open, read, close. The kernel opens and closes files without
// asking, fs.ShortcutNoOpen, so that the server opens one for the first READ.
func (j *modelTar) file(f TreeFile) {
	t := &j.model.times
	j.self.Use(j.model.vary(t.TarFile))
	units := int((f.Size + pageSize - 1) / pageSize)
	if !j.model.cell.Mounted || j.model.cell.Warm {
		j.self.Use(time.Duration(units) * t.TarUnit)
		return
	}
	j.ask(&fuseRequest{work: t.Lookup})
	j.read(units)
}

// Read-ahead, in pages, as mm/readahead.c has it for reads of tar's size from the
// beginning: a first window of four times what is read, rounded up to a power of two,
// then twice as much each time, until it is the largest that there is.
const (
	recordPages = tarRecord/pageSize + 1 // that a read of tar's touches
	firstWindow = 16
	lastWindow  = 256 // 1 MiB, a request: fs.ShortcutReadAhead
)

// A window is some pages that are read at once.
type window struct {
	from, to int
	marker   int // the page at which the next window is asked for
	request  *fuseRequest
}

// read reads the pages of a file. Who comes to the marker of a window asks for the next one
// first and then waits for the page, so that two windows are on their way.
func (j *modelTar) read(pages int) {
	next := window{0, firstWindow, recordPages, nil}
	current := j.readAhead(&next, pages)
	for at := 0; at < pages; {
		if current.marker > at {
			j.wait(current.request)
			j.use(&at, min(current.marker, current.to))
		}
		ahead := j.readAhead(&next, pages)
		j.wait(current.request)
		j.use(&at, current.to)
		current = ahead
	}
}

// readAhead asks for a window of a file, unless it is behind the end, and sets which one
// comes after it.
func (j *modelTar) readAhead(next *window, pages int) *window {
	w := *next
	size := min(2*(w.to-w.from), lastWindow)
	*next = window{w.to, w.to + size, w.to, nil}
	if w.from >= pages {
		return nil
	}
	w.to = min(w.to, pages)
	w.request = &fuseRequest{units: w.to - w.from}
	if w.from == 0 {
		w.request.work = j.model.times.Open
	}
	j.send(w.request)
	return &w
}

// use processes pages that are there, up to one.
func (j *modelTar) use(at *int, to int) {
	if to > *at {
		j.self.Use(j.model.vary(time.Duration(to-*at) * j.model.times.TarUnit))
		*at = to
	}
}

// send sends a request to the server.
func (j *modelTar) send(r *fuseRequest) {
	r.job = j
	j.self.Use(j.model.times.Send)
	j.model.server.take(r)
}

// ask sends a request and waits for the answer.
func (j *modelTar) ask(r *fuseRequest) {
	j.send(r)
	j.wait(r)
}

func (j *modelTar) wait(r *fuseRequest) {
	if !r.answered {
		j.waitsFor = r
		j.page.Sleep(nil)
		j.waitsFor = nil
	}
	j.self.Use(j.model.times.Resume)
}
