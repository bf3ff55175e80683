package bench

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"encfs/workqueue"
)

// Times are found again that a model had which made the measurements.
func TestFitServiceTimes(t *testing.T) {
	truth := TypicalTimes()
	for _, knob := range truth.knobs()[:3] {
		knob.turn(2)
	}
	var baselines []Baseline
	for _, jobs := range []int{1, 2} {
		for _, mounted := range []bool{false, true} {
			cell := TarCell{Shape: flat(2), Queue: workqueue.Attrs{Kind: workqueue.Inline}, Parts: Divide(generatedTree(1<<20), jobs), Mounted: mounted}
			took, _ := truth.Simulate(cell, 0)
			baselines = append(baselines, Baseline{cell, took.Seconds()})
		}
	}
	start := TypicalTimes()
	got := FitServiceTimes(start, baselines)
	off := func(times ServiceTimes) float64 { // in the mean, as the logarithm of a ratio
		return baselineDeviation * math.Sqrt(times.misfit(times, baselines)/float64(len(baselines)))
	}
	if before, after := off(start), off(got); after > 0.03 || before < 0.3 {
		t.Errorf("off by %.3f, before by %.3f", after, before)
	}
	if ratio := float64(got.TarUnit) / float64(truth.TarUnit); ratio < 0.9 || ratio > 1.1 {
		t.Errorf("TarUnit = %v, want %v", got.TarUnit, truth.TarUnit)
	}
	if none := FitServiceTimes(start, nil); none.TarUnit != start.TarUnit {
		t.Error("without measurements, times change")
	}
}

// What a driver takes without AES instructions is another thing than with them.
func TestServiceTimesWithoutAES(t *testing.T) {
	var times ServiceTimes
	result := func(direction string, unit int, speed float64) CipherResult {
		return CipherResult{Driver: "d", Direction: direction, UnitBytes: unit, MBPerS: speed}
	}
	times.SetMeasured([]CipherResult{result("decrypt", 512, 1), result("encrypt", 4096, 2), result("decrypt", 4096, 409.6), result("decrypt", 65536, 3)}, false)
	times.SetMeasured([]CipherResult{result("decrypt", 4096, 40.96)}, true)
	times.SetSpeed("e", true, 4096)
	for _, tt := range []struct {
		driver string
		noAES  bool
		want   time.Duration
		known  bool
	}{
		{"d", false, 10 * time.Microsecond, true},
		{"d", true, 100 * time.Microsecond, true},
		{"e", false, 0, false},
		{"e", true, time.Microsecond, true},
		{"", false, 0, false},
	} {
		if unit, known := times.Unit(tt.driver, tt.noAES); unit != tt.want || known != tt.known {
			t.Errorf("%q, without AES %v: %v, %v; want %v, %v", tt.driver, tt.noAES, unit, known, tt.want, tt.known)
		}
	}
	cell := TarCell{Shape: flat(1), Queue: workqueue.Attrs{Kind: workqueue.Inline}, Driver: "d", Parts: [][]TreeFile{{{"a", 100 * pageSize}}}, Mounted: true}
	with, _ := times.Simulate(cell, 1)
	cell.NoAES = true
	without, _ := times.Simulate(cell, 1)
	if with != time.Millisecond || without != 10*time.Millisecond {
		t.Errorf("100 data units take %v, without AES %v; want 1ms and 10ms", with, without)
	}
}

// That baselines are off by chance turns no knob far.
func TestFitNoisyBaselines(t *testing.T) {
	start := TypicalTimes()
	var baselines []Baseline
	for _, jobs := range []int{1, 2, 4} {
		cell := TarCell{Shape: flat(2), Queue: workqueue.Attrs{Kind: workqueue.Inline}, Parts: Divide(generatedTree(1<<20), jobs), Mounted: true}
		took, _ := start.Simulate(cell, 0)
		noise := 1.08
		if jobs == 2 {
			noise = 0.92
		}
		baselines = append(baselines, Baseline{cell, noise * took.Seconds()})
	}
	got := FitServiceTimes(start, baselines)
	from := start.knobs()
	for i, k := range got.knobs() {
		if ratio := math.Exp(k.position() - from[i].position()); ratio < 0.4 || ratio > 2.5 {
			t.Errorf("knob %d is turned by %.2f", i, ratio)
		}
	}
}

func TestServiceTimesFile(t *testing.T) {
	times := modelTimes(5)
	times.SetSpeed("slow", true, 4096)
	var b bytes.Buffer
	if err := times.Write(&b); err != nil {
		t.Fatal(err)
	}
	got, err := ReadServiceTimes(bytes.NewReader(b.Bytes()))
	if err != nil || got.Decrypt["slow"] != 5 || got.DecryptNoAES["slow"] != time.Microsecond || got.Machine != times.Machine || got.TarUnit != times.TarUnit {
		t.Errorf("read %+v, %v", got, err)
	}
	for _, text := range []string{"", "[]", "{}", `{"queue": "bound"}`, "\x00", `{"TarUnit": -1, "Decrypt": {}}`, `{"TarUnit": 1, "Decrypt": {}, "Machine": {"Contention": -1}}`} {
		if _, err := ReadServiceTimes(strings.NewReader(text)); err == nil {
			t.Errorf("%q has service times", text)
		}
	}
}
