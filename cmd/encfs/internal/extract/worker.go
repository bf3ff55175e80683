package extract

// partSize is how many bytes of a file are read at a time, and the least that another
// worker helps with. A multiple of the size of every data unit.
const partSize = 1 << 20

// A worker makes objects, one at a time.
type worker struct {
	r   *run
	buf []byte // of partSize bytes, for plain contents
}

func newWorker(r *run) *worker { return &worker{r, make([]byte, partSize)} }

// work takes jobs, and helps others while there is none, until the run is over.
func (w *worker) work() {
	defer clear(w.buf)
	jobs := w.r.jobs
	for {
		select {
		case job := <-jobs:
			job(w)
			w.r.open.Done()
		case part, ok := <-w.r.help:
			if !ok {
				return
			}
			part(w)
		}
	}
}

// submit gives a job to the next worker that has none, and waits for one.
func (r *run) submit(job func(*worker)) {
	r.open.Add(1)
	r.jobs <- job
}

// share has a part of a file done by a worker that has nothing to do, or by w if
// there is none. The caller waits for the part in its own way.
func (w *worker) share(part func(*worker)) {
	select {
	case w.r.help <- part:
	default:
		part(w)
	}
}

// await helps others until ready is closed.
func (w *worker) await(ready <-chan struct{}) {
	for {
		select {
		case <-ready:
			return
		case part := <-w.r.help:
			part(w)
		}
	}
}
