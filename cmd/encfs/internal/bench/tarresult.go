package bench

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
}

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
	P50  float64         `json:"p50"`
	P95  float64         `json:"p95"`
	P99  float64         `json:"p99"`
	Dist []LatencyBucket `json:"distribution"` // ascending
}

// A LatencyBucket is how many requests took about as long.
type LatencyBucket struct {
	Us    float64 `json:"us"` // middle of the bucket, in microseconds
	Count uint64  `json:"count"`
}
