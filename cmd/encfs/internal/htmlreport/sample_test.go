package htmlreport

import (
	"math"
	"slices"
	"time"

	"encfs/cmd/encfs/internal/bench"
)

// samplePage has results of every kind, with a bit of everything that a page can show.
func samplePage() Page {
	p := Page{
		Title:   "encfs bench tar",
		Command: "encfs bench tar --jobs 1,2,4 --queue bound,unbound,inline,auto",
		Date:    time.Date(2026, 3, 4, 5, 6, 7, 0, time.FixedZone("", 3600)),
		Machine: []Fact{{"CPU", "Example <1>"}, {"Tier", "vaes-avx512"}},
	}
	for _, cipher := range []struct {
		name, driver string
		cleared      []string
		slow         float64
	}{
		{"aes-256-xts", "xts-aes-vaes-avx512", nil, 0.1},
		{"aes-256-xts", "xts-aes-generic", []string{"aes"}, 1},
	} {
		for _, queue := range []string{"bound", "unbound", "inline", "auto"} {
			for _, jobs := range []int{1, 2, 4} {
				r := sampleCell(queue, cipher.slow, jobs)
				r.Cipher, r.Driver, r.Cleared = cipher.name, cipher.driver, cipher.cleared
				p.Tar = append(p.Tar, r)
				if queue != "inline" {
					r.Simulated, r.Seconds, r.MedianS = true, []float64{r.MedianS * 1.04}, r.MedianS*1.04
					p.Tar = append(p.Tar, r)
				}
			}
		}
	}
	for _, cipher := range []string{bench.NoMount, bench.NoCipher} {
		for _, jobs := range []int{1, 2, 4} {
			r := sampleCell("inline", 0.02, jobs)
			r.Cipher, r.Queue, r.Scope = cipher, bench.NoMount, ""
			p.Tar = append(p.Tar, r)
		}
	}
	for _, d := range [][2]string{{"xts(aes)", "xts-aes-generic"}, {"xts(aes)", "xts-aes-aesni"}, {"adiantum(xchacha12,aes)", "adiantum-generic"}} {
		for i, size := range bench.UnitSizes {
			for j, direction := range []string{"encrypt", "decrypt"} {
				v := float64(len(d[1])*100 + 40*i + 5*j)
				p.Cipher = append(p.Cipher, bench.CipherResult{
					Algorithm: d[0], Driver: d[1], Direction: direction, UnitBytes: size, MBPerS: v, Runs: []float64{v - 1, v, v + 1}, SelfTest: 120,
				})
			}
		}
	}
	for i, cleared := range [][]string{nil, {"aes"}} {
		p.Stress = append(p.Stress, bench.StressResult{
			OpsPerS: 12345 / float64(i+1), Cleared: cleared, Workers: 2, Seconds: 10,
			ByAlgorithm: map[string]float64{"xts(aes)": 9000 / float64(i+1), "sha512": 8000},
			Drivers:     map[string]string{"xts(aes)": "xts-aes-aesni"},
			Order:       []string{"xts(aes)", "sha512"},
		})
	}
	p.Changes = &Changes{
		Old: "old.json", New: "new.json", OnlyOld: []string{"gone"},
		Changes: []bench.Change{
			{Name: "a/b", Unit: "MB/s", Old: 100, New: 150, Percent: 50, P: 0.01, Decidable: true, Worse: -50},
			{Name: "c", Unit: "s", Old: 100, New: 130, Percent: 30, P: 0.01, Decidable: true, Worse: 30},
			{Name: "d", Unit: "s", Old: 100, New: 101, Percent: 1, P: 0.6, Decidable: true, Worse: 1},
			{Name: "e", Unit: "s", Old: 0, New: 1, Percent: bench.Percent(math.Inf(1)), P: 1, Worse: bench.Percent(math.Inf(1))},
			{Name: "f", Unit: "s", Old: 100, New: 80, Percent: -20, P: 1, Worse: -20},
		},
	}
	return p
}

// sampleCell is a cell whose times are made up, the longer the slower the cipher.
func sampleCell(queue string, slow float64, jobs int) bench.TarResult {
	factor := map[string]float64{"bound": 1.6, "unbound": 1.1, "inline": 1.3, "auto": 1.08}[queue]
	median := 1 + slow*factor/math.Sqrt(float64(min(jobs, 2)))
	r := bench.TarResult{
		Queue: queue, Jobs: jobs, CPUs: []int{0, 1}, CompletionCPUs: []int{0}, Cache: "cold", Bytes: 256 << 20,
		Time:    bench.ReadTime{LowerRead: 40, QueueWait: 30 * slow * factor, Decrypt: 120 * slow * factor, Reply: 15},
		Latency: bench.Latency{P50: 100, P95: 200 * factor, P99: 400 * factor},
	}
	if queue == "unbound" || queue == "auto" {
		r.Scope = "cache"
	}
	for i := range 5 {
		r.Seconds = append(r.Seconds, median*(1+0.02*float64(i*i%5-2)))
	}
	r.MedianS = slices.Sorted(slices.Values(r.Seconds))[2]
	for i := range 12 {
		r.Latency.Dist = append(r.Latency.Dist, bench.LatencyBucket{
			Us: 20 * math.Pow(1.5, float64(i)) * factor, Count: uint64(1000 / (1 + (i-4)*(i-4))),
		})
	}
	return r
}
