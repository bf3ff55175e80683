package metadata

import (
	"bytes"
	"errors"
	"math"
	"testing"
	"testing/fstest"
	"time"

	"encfs/keys/metadata/internal/pb"
)

func TestCostsCheck(t *testing.T) {
	tests := []struct {
		name string
		c    Costs
		ok   bool
	}{
		{"least", Costs{1, 8, 1}, true},
		{"usual", Costs{6, 128 << 10, 8}, true},
		{"most lanes", Costs{1, 8 * 255, 255}, true},
		{"most memory", Costs{1, math.MaxUint32, 1}, true},
		{"most time", Costs{1 << 29, 8, 1}, true},
		{"zero", Costs{}, false},
		{"time 0", Costs{0, 64, 1}, false},
		{"time -1", Costs{-1, 64, 1}, false},
		{"parallelism 0", Costs{1, 64, 0}, false},
		{"parallelism -1", Costs{1, 64, -1}, false},
		{"parallelism 256", Costs{1, 1 << 20, 256}, false},
		{"memory 0", Costs{1, 0, 1}, false},
		{"memory -1", Costs{1, -1, 1}, false},
		{"memory 7 for 1", Costs{1, 7, 1}, false},
		{"memory 63 for 8", Costs{1, 63, 8}, false},
		{"memory 2^32", Costs{1, 1 << 32, 1}, false},
		{"time one more", Costs{1<<29 + 1, 8, 1}, false},
		{"time 2^32 + 1", Costs{1<<32 + 1, 8, 1}, false},
		{"product of 64 bits", Costs{1 << 32, math.MaxUint32, 1}, false},
		{"all largest", Costs{math.MaxInt64, math.MaxInt64, math.MaxInt64}, false},
		{"all smallest", Costs{math.MinInt64, math.MinInt64, math.MinInt64}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.c.Check()
			if tt.ok && err != nil {
				t.Errorf("%+v: %v", tt.c, err)
			} else if !tt.ok {
				wantErr(t, err, ErrCosts)
				_, err = tt.c.hash([]byte("x"), make([]byte, saltSize))
				wantErr(t, err, ErrCosts)
			}
		})
	}
}

// Before the fscrypt tool refused a parallelism above 255 it gave the low byte to
// Argon2.
func TestTruncatedParallelism(t *testing.T) {
	for _, tt := range []struct {
		stored int64
		fixed  bool
		want   int64
	}{
		{1, false, 1}, {255, false, 255}, {256, false, 0}, {258, false, 2}, {-1, false, 255},
		{1, true, 1}, {255, true, 255}, {258, true, 258}, {-1, true, -1},
	} {
		c := costsOf(&pb.HashingCosts{Time: 1, Memory: 4096, Parallelism: tt.stored, TruncationFixed: tt.fixed})
		if c.Parallelism != tt.want {
			t.Errorf("%d, fixed %v: got %d, want %d", tt.stored, tt.fixed, c.Parallelism, tt.want)
		}
	}
	// The vector with 2 lanes opens when it says 258 without truncation_fixed, and
	// not when it says so with it.
	v := toolCaseOf(t, "tool-v1").Protectors[0]
	p, err := parseProtector(v.Descriptor, v.File)
	if err != nil {
		t.Fatal(err)
	}
	if v.Parallelism != 2 {
		t.Fatal("the vector has another parallelism")
	}
	p.data.Costs.Parallelism = 258
	p.data.Costs.TruncationFixed = false
	key, err := p.Unlock(v.secret(t))
	if err != nil {
		t.Fatal(err)
	}
	defer key.Close()
	p.data.Costs.TruncationFixed = true
	_, err = p.Unlock(v.secret(t))
	wantErr(t, err, ErrCosts)
}

func TestMemoryError(t *testing.T) {
	c := Costs{1, math.MaxUint32, 1} // 4 TiB
	_, err := c.hash([]byte("x"), make([]byte, saltSize))
	var me *MemoryError
	if !errors.As(err, &me) {
		t.Fatalf("error %v, want a MemoryError", err)
	}
	if want := uint64(math.MaxUint32)<<10 + memoryMargin; me.Need != want || me.Available == 0 || me.Available >= want {
		t.Errorf("%+v, want to need %d", me, want)
	}
}

func TestAvailableMemory(t *testing.T) {
	const meminfo = "MemTotal:       16000 kB\nMemFree:          100 kB\nMemAvailable:    8000 kB\n"
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	tests := []struct {
		name string
		root fstest.MapFS
		want uint64 // bytes; 0 is unknown
	}{
		{"nothing", fstest.MapFS{}, 0},
		{"meminfo", fstest.MapFS{"proc/meminfo": file(meminfo)}, 8000 << 10},
		{"old meminfo", fstest.MapFS{"proc/meminfo": file("MemFree: 100 kB\n")}, 0},
		{"no limit", fstest.MapFS{
			"proc/meminfo":                 file(meminfo),
			"proc/self/cgroup":             file("0::/a/b\n"),
			"sys/fs/cgroup/a/b/memory.max": file("max\n"), "sys/fs/cgroup/a/b/memory.current": file("5\n"),
		}, 8000 << 10},
		{"limit", fstest.MapFS{
			"proc/meminfo":                 file(meminfo),
			"proc/self/cgroup":             file("0::/a/b\n"),
			"sys/fs/cgroup/a/b/memory.max": file("1000000\n"), "sys/fs/cgroup/a/b/memory.current": file("400000\n"),
		}, 600000},
		{"limit above", fstest.MapFS{
			"proc/meminfo":                 file(meminfo),
			"proc/self/cgroup":             file("0::/a/b\n"),
			"sys/fs/cgroup/a/b/memory.max": file("1000000\n"), "sys/fs/cgroup/a/b/memory.current": file("400000\n"),
			"sys/fs/cgroup/a/memory.max": file("2000000\n"), "sys/fs/cgroup/a/memory.current": file("1900000\n"),
		}, 100000},
		{"limit of the root, in a container", fstest.MapFS{
			"proc/self/cgroup":         file("0::/\n"),
			"sys/fs/cgroup/memory.max": file("3000\n"), "sys/fs/cgroup/memory.current": file("1000\n"),
		}, 2000},
		{"cache", fstest.MapFS{
			"proc/self/cgroup":         file("0::/\n"),
			"sys/fs/cgroup/memory.max": file("3000\n"), "sys/fs/cgroup/memory.current": file("2900\n"),
			"sys/fs/cgroup/memory.stat": file("anon 100\ninactive_file 700\nactive_file 300\n"),
		}, 1100},
		{"above the limit", fstest.MapFS{
			"proc/self/cgroup":         file("0::/\n"),
			"sys/fs/cgroup/memory.max": file("3000\n"), "sys/fs/cgroup/memory.current": file("3001\n"),
		}, 0},
		{"more than meminfo", fstest.MapFS{
			"proc/meminfo":             file(meminfo),
			"proc/self/cgroup":         file("0::/\n"),
			"sys/fs/cgroup/memory.max": file("30000000000\n"), "sys/fs/cgroup/memory.current": file("1\n"),
		}, 8000 << 10},
		{"version 1", fstest.MapFS{
			"proc/meminfo":     file(meminfo),
			"proc/self/cgroup": file("4:memory:/job\n1:cpu:/\n0::/\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes":       file("9223372036854771712\n"),
			"sys/fs/cgroup/memory/memory.usage_in_bytes":       file("77\n"),
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes":   file("5000\n"),
			"sys/fs/cgroup/memory/job/memory.usage_in_bytes":   file("2000\n"),
			"sys/fs/cgroup/memory/job/memory.stat":             file("active_file 10\ntotal_active_file 20\n"),
			"sys/fs/cgroup/memory/other/memory.limit_in_bytes": file("1\n"),
			"sys/fs/cgroup/memory/other/memory.usage_in_bytes": file("1\n"),
		}, 3010},
		{"nonsense", fstest.MapFS{
			"proc/meminfo":             file("MemAvailable: many kB\nMemAvailable:\n"),
			"proc/self/cgroup":         file("0\n::\n0::../../..\n"),
			"sys/fs/cgroup/memory.max": file("\n"),
		}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := availableMemory(tt.root)
			if !ok {
				got = 0
			}
			if got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestCalibrate(t *testing.T) {
	// A machine on which a pass takes so long for each MiB, whatever the lanes.
	machine := func(perMiB time.Duration) func(Costs) (time.Duration, error) {
		return func(c Costs) (time.Duration, error) {
			return time.Duration(c.Time*c.Memory) * perMiB >> 10, c.Check()
		}
	}
	const s = time.Second
	tests := []struct {
		name   string
		target time.Duration
		cpus   int
		memory int64
		perMiB time.Duration
		want   Costs
	}{
		{"fast", s, 8, 128 << 10, s / 1024, Costs{8, 128 << 10, 8}},
		{"rounds up", s, 1, 128 << 10, s / 128 / 2 * 10 / 9, Costs{2, 128 << 10, 1}},
		{"one pass fits", s, 2, 128 << 10, s / 128, Costs{1, 128 << 10, 2}},
		{"slow", s, 1, 128 << 10, s / 100, Costs{2, 64 << 10, 1}},
		{"slower", s, 1, 128 << 10, s / 20, Costs{1, 16 << 10, 1}},
		{"hopeless", s, 1, 128 << 10, 10 * s, Costs{1, 1 << 10, 1}},
		{"little memory", s, 4, 16 << 10, s / 1024, Costs{64, 16 << 10, 4}},
		{"no memory", s, 4, 0, s / 1024, Costs{1024, 1 << 10, 4}},
		{"many CPUs", s, 1000, 128 << 10, s / 1024, Costs{8, 128 << 10, 255}},
		{"many CPUs, no memory", s, 1000, 0, s / 1024, Costs{514, 8 * 255, 255}},
		{"no time", 0, 1, 128 << 10, s / 1024, Costs{1, 1 << 10, 1}},
		{"a clock that stands still", s, 1, 128 << 10, 0, Costs{1 << 15, 128 << 10, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := calibrate(tt.target, tt.cpus, tt.memory, machine(tt.perMiB))
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			if err := got.Check(); err != nil {
				t.Error(err)
			}
		})
	}
	broken := errors.New("broken")
	_, err := calibrate(s, 1, 1<<10, func(Costs) (time.Duration, error) { return 0, broken })
	wantErr(t, err, broken)
}

func TestCalibrateCosts(t *testing.T) {
	c, err := CalibrateCosts(time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
	if c.Memory > maxCalibratedMemory {
		t.Errorf("%+v, want at most %d KiB", c, maxCalibratedMemory)
	}
}

// Large costs take the way that gives memory back; the result is the same.
func TestHashLarge(t *testing.T) {
	c := Costs{1, largeMemory, 1}
	salt := pattern(saltSize)
	first, err := c.hash([]byte("x"), salt)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	second, err := c.hash([]byte("x"), salt)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if !bytes.Equal(first.Bytes(), second.Bytes()) || bytes.Equal(first.Bytes(), make([]byte, wrappingKeySize)) {
		t.Errorf("hashed to %x and %x", first.Bytes(), second.Bytes())
	}
}
