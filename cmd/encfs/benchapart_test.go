package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"encfs/cmd/encfs/internal/bench"
	"encfs/cpufeat"
)

// cellWithout returns a cell without AES, if the CPU has it.
func cellWithout(t *testing.T) cell {
	t.Helper()
	if !cpufeat.Host().Has(cpufeat.AES) {
		t.Skip("the CPU has no AES")
	}
	return cell{cpufeat.Host().Clear(cpufeat.AES), []string{"aes", "sha"}}
}

func TestApart(t *testing.T) {
	without, with := cellWithout(t), cell{cpufeat.Host(), []string{}}
	for _, tt := range []struct {
		name, debug string
		cell        cell
		want        bool
	}{
		{"all features", "", with, false},
		{"without AES", "", without, true},
		{"another setting", "madvdontneed=1", without, true},
		{"this process lacks it", "cpu.aes=off", without, false},
		{"among others", "madvdontneed=1,cpu.aes=off,cpu.avx2=off", without, false},
		{"the last one counts", "cpu.aes=off,cpu.aes=on", without, true},
		{"the last one is off", "cpu.aes=on,cpu.aes=off", without, false},
		{"all features, and it lacks it", "cpu.aes=off", with, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("GODEBUG", tt.debug)
			if got := tt.cell.apart(); got != tt.want {
				t.Errorf("apart is %v, want %v", got, tt.want)
			}
		})
	}
}

// The process for a cell has its features, and starts no other one.
func TestApartCommand(t *testing.T) {
	c := cellWithout(t)
	t.Setenv("GODEBUG", "")
	p := c.apartCommand(t.Context(), "cipher", "--runs", "3")
	if got, want := strings.Join(p.Args[1:], " "), "bench cipher --runs 3 --clear-cpu aes,sha --format json"; got != want {
		t.Errorf("arguments %q, want %q", got, want)
	}
	i := slices.Index(p.Env, "GODEBUG=cpu.aes=off")
	if i < 0 {
		t.Fatalf("environment %q", p.Env)
	}
	t.Setenv("GODEBUG", strings.TrimPrefix(p.Env[i], "GODEBUG="))
	if c.apart() {
		t.Error("the process would start another one")
	}
}

// Each driver is measured once for each of the two processes that cells have it in, unless
// it is known.
func TestUnknownDrivers(t *testing.T) {
	var times bench.ServiceTimes
	times.SetSpeed("adiantum-generic", false, 100)
	cells := make([]bench.SimulatedCell, 6)
	for i, c := range []struct {
		driver string
		noAES  bool
	}{{"", false}, {"xts-aes-generic", false}, {"xts-aes-generic", true}, {"xts-aes-generic", true}, {"adiantum-generic", false}, {"adiantum-generic", true}} {
		cells[i].Cell.Driver, cells[i].Cell.NoAES = c.driver, c.noAES
	}
	for noAES, want := range map[bool]string{false: "xts-aes-generic", true: "xts-aes-generic adiantum-generic"} {
		drivers, err := unknownDrivers(&times, cells, noAES)
		var names []string
		for _, d := range drivers {
			names = append(names, d.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("without AES %v: %q, %v; want %q", noAES, got, err, want)
		}
	}
	cells[0].Cell.Driver = "fast-aes"
	if _, err := unknownDrivers(&times, cells, false); err == nil {
		t.Error("there is a driver fast-aes")
	}
}

// A driver that portable AES slows down is simulated with AES instructions and without,
// one of another cipher once.
func TestPlanWithoutAES(t *testing.T) {
	cellWithout(t)
	var f simulateFlags
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.add(flags)
	err := flags.Parse([]string{"--cpus", "2", "--jobs", "1", "--queue", "bound", "--completion-cpus", "all",
		"--cipher", "aes-256-xts,speck128-xts", "--driver", "xts-aes-generic,xts-speck128-generic"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.plan()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range p.cells {
		name := c.Cell.Driver
		if c.Cell.NoAES {
			name += " without AES"
		}
		got = append(got, name)
	}
	if want := []string{"xts-aes-generic", "xts-aes-generic without AES", "xts-speck128-generic"}; !slices.Equal(got, want) {
		t.Errorf("cells %q, want %q", got, want)
	}
}

// What was measured without AES instructions is simulated without them, and features that
// there are none of are an error.
func TestMeasuredWithoutAES(t *testing.T) {
	cellWithout(t)
	for _, tt := range []struct {
		name, cleared, want string
		noAES               bool
	}{
		{"all features", `[]`, "", false},
		{"without AES", `["aes"]`, "", true},
		{"without another", `["vaes"]`, "", false},
		{"unknown feature", `["fast"]`, "fast", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := simulateRequest{measured: filepath.Join(t.TempDir(), "measured")}
			text := `[{"queue": "inline", "cipher": "aes-256-xts", "driver": "xts-aes-generic", "cleared": ` + tt.cleared +
				`, "jobs": 1, "cpus": [0], "bytes": 4194304, "seconds": [1], "median_s": 1}]`
			if err := os.WriteFile(r.measured, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			cells, _, err := r.measuredCells(&simulatePlan{})
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want %q", err, tt.want)
				}
				return
			}
			if err != nil || len(cells) != 1 || cells[0].Cell.NoAES != tt.noAES {
				t.Errorf("got %+v, %v", cells, err)
			}
		})
	}
}

// A process that cannot measure says why, and that is what this one says.
func TestMeasureApart(t *testing.T) {
	c := cellWithout(t)
	t.Setenv("GODEBUG", "")
	dir := t.TempDir()
	for _, tt := range []struct {
		name, script string
		want         string // in the error
		code         int
	}{
		{"results", `echo '[{"driver": "d", "mb_per_s": 5}]'; echo note >&2`, "", 0},
		{"own error", `echo 'encfs: no driver' >&2; exit 4`, "no driver", 4},
		{"killed", `kill -9 $$`, "killed", exitFailure},
		{"no results", `echo hello`, "invalid character", exitFailure},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := c.apartCommand(t.Context(), "cipher")
			p.Path, p.Args = "/bin/sh", []string{"sh", "-c", tt.script}
			p.Dir = dir
			var stderr bytes.Buffer
			var results []bench.CipherResult
			err := resultsOf(p, &results, &stderr)
			if tt.want == "" {
				if err != nil || len(results) != 1 || results[0].MBPerS != 5 || stderr.String() != "note\n" {
					t.Errorf("got %+v, %q, %v", results, stderr.String(), err)
				}
				return
			}
			if code, _ := classify(err); err == nil || code != tt.code || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "encfs: ") {
				t.Errorf("got %v, code %d; want %q, code %d", err, code, tt.want, tt.code)
			}
		})
	}
}
