package bench

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
)

// testTarResult returns the result of a cell with runs of these seconds.
func testTarResult(queue, scope string, jobs int, seconds ...float64) TarResult {
	r := TarResult{
		Queue: queue, Scope: scope, Cipher: "aes-256-xts", Driver: "xts-aes-generic", Cleared: []string{},
		Jobs: jobs, CPUs: []int{0, 1}, CompletionCPUs: []int{0}, Cache: "cold", Bytes: 100e6,
	}
	for _, s := range seconds {
		r.Add(s, ReadParts{})
	}
	return r
}

func TestTarResultAdd(t *testing.T) {
	r := testTarResult("bound", "", 1)
	r.Add(3, ReadParts{
		Read: Distribution{{100, 3}}, LowerRead: Distribution{{10, 3}}, QueueWait: Distribution{{5, 8}}, Decrypt: Distribution{{50, 3}},
	})
	r.Add(1, ReadParts{
		Read: Distribution{{100, 4}, {300, 1}}, LowerRead: Distribution{{20, 1}}, Decrypt: Distribution{{90, 1}},
	})
	if !slices.Equal(r.Seconds, []float64{3, 1}) || r.MedianS != 2 || r.MBPerS() != 50 {
		t.Errorf("seconds %v, median %v, %v MB/s", r.Seconds, r.MedianS, r.MBPerS())
	}
	if want := (ReadTime{LowerRead: 12.5, QueueWait: 5, Decrypt: 60, Reply: 125 - 12.5 - 60}); r.Time != want {
		t.Errorf("time: got %+v, want %+v", r.Time, want)
	}
	if l := r.Latency; l.P50 != 100 || l.P99 != 300 || !slices.Equal(l.Dist, Distribution{{100, 7}, {300, 1}}) {
		t.Errorf("latency: %+v", l)
	}
}

// The parts may come to more than the whole, as each is timed now and then.
func TestTarResultReplyIsNotNegative(t *testing.T) {
	r := testTarResult("bound", "", 1)
	r.Add(1, ReadParts{Read: Distribution{{10, 1}}, Decrypt: Distribution{{11, 1}}})
	if r.Time.Reply != 0 {
		t.Errorf("got %v", r.Time.Reply)
	}
}

// The fields are those that docs/cli.md names, and none is null.
func TestTarResultJSON(t *testing.T) {
	text, err := json.Marshal(testTarResult("bound", "", 1, 1, 2))
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"bytes", "cache", "cipher", "cleared", "completion_cpus", "cpus", "driver", "jobs", "latency_us", "median_s",
		"queue", "scope", "seconds", "simulated", "time",
	}
	for _, name := range want {
		if _, ok := fields[name]; !ok {
			t.Errorf("%s is missing", name)
		}
		delete(fields, name)
	}
	if len(fields) > 0 || bytes.Contains(text, []byte("null")) {
		t.Errorf("%s: also %v", text, fields)
	}
	for _, part := range []string{
		`"time":{"lower_read_us":0,"queue_wait_us":0,"decrypt_us":0,"reply_us":0}`,
		`"latency_us":{"p50":0,"p95":0,"p99":0,"distribution":[]}`,
	} {
		if !bytes.Contains(text, []byte(part)) {
			t.Errorf("%s is not in %s", part, text)
		}
	}
}

// What is written is what compare reads, in either form.
func TestCompareTarResults(t *testing.T) {
	results := []TarResult{
		{Queue: NoMount, Cipher: NoMount, Cleared: []string{}, Jobs: 1, CPUs: []int{0, 1}, Cache: "warm", Bytes: 100e6, Seconds: []float64{1, 2}},
		testTarResult("bound", "", 1, 1, 1.1, 1.2, 1.3),
		testTarResult("unbound", "cache", 1, 0.8, 0.9, 1, 1.1),
		testTarResult("unbound", "cpu", 1, 0.8),
		testTarResult("unbound", "cache", 2, 0.8),
	}
	for i := range results[1:] {
		results[i+1].Cleared = []string{"aes"} // in all, so that it can be compared with another set
	}
	results = append(results, results[1])
	results[5].Simulated = true
	results[5].Seconds = []float64{1}

	var asJSON, asBenchfmt bytes.Buffer
	if err := json.NewEncoder(&asJSON).Encode(results); err != nil {
		t.Fatal(err)
	}
	if err := WriteTarBenchfmt(&asBenchfmt, results); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Tar/cipher=none/cpus=0,1/jobs=1/queue=none/cache=warm MB/s",
		"Tar/cipher=aes-256-xts/driver=xts-aes-generic/cpus=0,1/completion=0/jobs=1/queue=bound/cache=cold MB/s",
		"Tar/cipher=aes-256-xts/driver=xts-aes-generic/cpus=0,1/completion=0/jobs=1/queue=unbound/scope=cache/cache=cold MB/s",
		"Tar/cipher=aes-256-xts/driver=xts-aes-generic/cpus=0,1/completion=0/jobs=1/queue=unbound/scope=cpu/cache=cold MB/s",
		"Tar/cipher=aes-256-xts/driver=xts-aes-generic/cpus=0,1/completion=0/jobs=2/queue=unbound/scope=cache/cache=cold MB/s",
		"Tar/cipher=aes-256-xts/driver=xts-aes-generic/cpus=0,1/completion=0/jobs=1/queue=bound/simulated=true/cache=cold MB/s",
	}
	for _, tt := range []struct{ name, text string }{{"json", asJSON.String()}, {"benchfmt", asBenchfmt.String()}} {
		m, err := ReadMeasurements(strings.NewReader(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		changes, _, _ := Compare(m, m)
		for i, c := range changes {
			got = append(got, c.Name+" "+c.Unit)
			if n := len(m.values[m.order[i]]); n != len(results[i].Seconds) {
				t.Errorf("%s: %s has %d samples, want %d", tt.name, c.Name, n, len(results[i].Seconds))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestWriteTarTable(t *testing.T) {
	lower := testTarResult(NoMount, "", 1, 0.05)
	lower.Cipher, lower.CompletionCPUs, lower.Cache = NoMount, nil, "warm"
	null := testTarResult("inline", "", 1, 0.1)
	null.Cipher, null.Driver = NoCipher, ""
	var b strings.Builder
	if err := WriteTarTable(&b, []TarResult{
		lower, null,
		testTarResult("bound", "", 1, 1, 1, 1, 1),
		testTarResult("unbound", "cache", 1, 0.8, 0.8, 0.8, 0.8),
		testTarResult("auto", "cache", 1, 1, 1, 1, 1),
		testTarResult("unbound", "cache", 4, 0.8),
	}); err != nil {
		t.Fatal(err)
	}
	want := `the lower tree, without a mount; CPUs 0,1; warm cache
  jobs  queue    median  spread      speed
     1   none  0.0500 s  ±0.0 %  2000 MB/s

a mount without encryption; CPUs 0,1, ciphertext on 0; cold cache
  jobs   queue    median  spread      speed
     1  inline  0.1000 s  ±0.0 %  1000 MB/s

aes-256-xts by xts-aes-generic; CPUs 0,1, ciphertext on 0; cold cache
  jobs          queue    median  spread     speed
     1          bound  1.0000 s  ±0.0 %  100 MB/s
     1  unbound/cache  0.8000 s  ±0.0 %  125 MB/s
     1     auto/cache  1.0000 s  ±0.0 %  100 MB/s
     4  unbound/cache  0.8000 s  ±0.0 %  125 MB/s
jobs 1: unbound/cache is 1.250 [1.250, 1.250] × bound
jobs 1: auto/cache is 0.800 [0.800, 0.800] × best (unbound/cache)

`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if math.IsNaN(lower.MedianS) {
		t.Error("no median")
	}
}
