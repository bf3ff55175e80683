package bench

// Words in the place of a cipher, and of a queue.
const (
	NoCipher = "null" // a mount that encrypts no contents
	NoMount  = "none" // the lower tree
)

// A TarResult is what one cell of the experiment took: a tree read by tars through a
// mount, or a model of that. It is also the form that JSON has.
//
// The cell's fields are all but those of the runs. Those that mean nothing for it,
// such as the driver where nothing is decrypted, are empty.
type TarResult struct {
	Queue          string   `json:"queue"`  // bound, unbound, inline or auto; "none" for the lower tree
	Scope          string   `json:"scope"`  // affinity scope of an unbound or auto queue
	Cipher         string   `json:"cipher"` // as the command line has it; "null" decrypts nothing; "none" for the lower tree
	Driver         string   `json:"driver"` // of the contents' cipher
	Cleared        []string `json:"cleared"`
	Jobs           int      `json:"jobs"`            // tars at a time, each of a part of the tree
	CPUs           []int    `json:"cpus"`            // that all of it ran on
	CompletionCPUs []int    `json:"completion_cpus"` // on which ciphertext arrived; empty for wherever it was asked for
	Cache          string   `json:"cache"`           // "cold" or "warm"
	Bytes          int64    `json:"bytes"`           // of plain contents, read in each run
	Simulated      bool     `json:"simulated"`       // by a model, not measured

	Seconds []float64 `json:"seconds"`  // one for each run, in their order
	MedianS float64   `json:"median_s"` // the median of Seconds

	// Time is where the time of READ requests went, summed over all runs, and
	// Latency the distribution of what a request took.
	Time    ReadTime `json:"time"`
	Latency Latency  `json:"latency_us"`

	parts ReadParts // of all runs that were added
}

// IsBaseline reports whether a result is one to see others beside, and to fit service
// times to: it decrypts nothing.
func IsBaseline(r TarResult) bool { return r.Cipher == NoMount || r.Cipher == NoCipher }

// ReadParts are the distributions of what READ requests took and of the parts of
// that, as far as they were timed.
type ReadParts struct {
	Read, LowerRead, QueueWait, Decrypt Distribution
}

// Plus returns the times of both.
func (p ReadParts) Plus(o ReadParts) ReadParts {
	return ReadParts{p.Read.Plus(o.Read), p.LowerRead.Plus(o.LowerRead), p.QueueWait.Plus(o.QueueWait), p.Decrypt.Plus(o.Decrypt)}
}

// Minus returns the times that came since earlier.
func (p ReadParts) Minus(earlier ReadParts) ReadParts {
	return ReadParts{
		p.Read.Minus(earlier.Read), p.LowerRead.Minus(earlier.LowerRead),
		p.QueueWait.Minus(earlier.QueueWait), p.Decrypt.Minus(earlier.Decrypt),
	}
}

// Add adds a run that took so many seconds, with the times of its requests.
func (r *TarResult) Add(seconds float64, p ReadParts) {
	r.Seconds = append(r.Seconds, seconds)
	r.MedianS = median(r.Seconds)
	r.parts = r.parts.Plus(p)
	p = r.parts
	r.Time = ReadTime{LowerRead: p.LowerRead.Mean(), QueueWait: p.QueueWait.Mean(), Decrypt: p.Decrypt.Mean()}
	r.Time.Reply = max(0, p.Read.Mean()-r.Time.LowerRead-r.Time.Decrypt)
	r.Latency = Latency{P50: p.Read.Quantile(0.5), P95: p.Read.Quantile(0.95), P99: p.Read.Quantile(0.99), Dist: p.Read}
	if r.Latency.Dist == nil {
		r.Latency.Dist = Distribution{} // an array in JSON
	}
}

// MBPerS returns how many megabytes (10^6 bytes) of contents were read in a second of
// the median.
func (r *TarResult) MBPerS() float64 { return r.rate(r.MedianS) }

// rate returns MB/s of a run that took so many seconds.
func (r *TarResult) rate(seconds float64) float64 { return float64(r.Bytes) / 1e6 / seconds }

// A ReadTime is the mean time, in microseconds, of the parts of a READ request.
type ReadTime struct {
	LowerRead float64 `json:"lower_read_us"` // until the ciphertext is there
	QueueWait float64 `json:"queue_wait_us"` // of work items, until a worker begins
	Decrypt   float64 `json:"decrypt_us"`    // from the ciphertext to the plaintext, the wait included
	Reply     float64 `json:"reply_us"`      // the rest: of the request and of its answer
}

// A Latency has percentiles of the time of READ requests, in microseconds, and the
// distribution that they are of.
type Latency struct {
	P50  float64      `json:"p50"`
	P95  float64      `json:"p95"`
	P99  float64      `json:"p99"`
	Dist Distribution `json:"distribution"`
}
