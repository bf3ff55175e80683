package main

import (
	"errors"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"encfs/cpufeat"
	"encfs/decrypt"
	"encfs/keys"
)

var testPolicy = keys.Policy{Version: 2, Contents: keys.AES256XTS, Filenames: keys.AES256CTS}

func TestDriverOptions(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options driverOptions
		code    int
		want    string // in the error, or the name of the driver
	}{
		{"none", driverOptions{SelfTest: "lazy", ClearCPU: cpufeat.Host().String()}, 0, "xts-aes-generic"},
		{"full", driverOptions{SelfTest: "full", ClearCPU: cpufeat.Host().String()}, 0, "xts-aes-generic"},
		{"off", driverOptions{SelfTest: "off", ClearCPU: cpufeat.Host().String()}, 0, "xts-aes-generic"},
		{"by name", driverOptions{SelfTest: "lazy", Driver: "xts-aes-generic"}, 0, "xts-aes-generic"},
		{"unknown driver", driverOptions{SelfTest: "lazy", Driver: "fast"}, exitUsage, "no such driver"},
		{"driver of another algorithm", driverOptions{SelfTest: "lazy", Driver: "adiantum-generic"}, exitUsage, "contents are encrypted with xts(aes)"},
		{"unknown feature", driverOptions{SelfTest: "lazy", ClearCPU: "hair"}, exitUsage, `unknown CPU feature "hair"`},
		{"unknown mode", driverOptions{SelfTest: "on"}, exitUsage, "known are lazy, full, off"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			table, err := tt.options.forPolicy(testPolicy, nil)
			if tt.code != 0 {
				if code, _ := classify(err); err == nil || code != tt.code || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, code %d, want %q, code %d", err, code, tt.want, tt.code)
				}
				return
			}
			if errors.Is(err, decrypt.ErrNoSelfTests) {
				t.Skip("built without self-tests")
			}
			if err != nil {
				t.Fatal(err)
			}
			if d, err := table.Lookup("xts(aes)"); err != nil || d.Name != tt.want {
				t.Errorf("got driver %s, %v, want %s", d.Name, err, tt.want)
			}
		})
	}
}

// TestDriverEnvironment looks at what a server is told of AES, also where that went
// with something that it needs.
func TestDriverEnvironment(t *testing.T) {
	needed := map[string]string{"amd64": "sse2", "arm64": "asimd"}[runtime.GOARCH]
	if !cpufeat.Host().Has(cpufeat.AES) || needed == "" {
		t.Skip("the CPU has no AES")
	}
	for _, tt := range []struct{ name, clear, own, want string }{
		{"all features", "", "", ""},
		{"all features, variable of its own", "", "madvdontneed=1", "madvdontneed=1"},
		{"without AES", "aes", "", "cpu.aes=off"},
		{"without AES, variable of its own", "aes", "madvdontneed=1", "madvdontneed=1,cpu.aes=off"},
		{"without what AES needs", needed, "", "cpu.aes=off"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("GODEBUG", tt.own)
			cmd := exec.Command("sh", "-c", `printf %s "$GODEBUG"`)
			cmd.Env = driverOptions{ClearCPU: tt.clear}.environment()
			if got, err := cmd.Output(); err != nil || string(got) != tt.want {
				t.Errorf("GODEBUG is %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestExplainDriver(t *testing.T) {
	need := cpufeat.AVX512F // on other machines than amd64 the CPU never has it
	d := decrypt.Driver{Algorithm: "xts(aes)", Name: "xts-aes-wide", Needs: need}
	err := explainDriver(&decrypt.UnusableError{Driver: d, Have: cpufeat.Host().Clear(need)})
	if code, _ := classify(err); code != exitUnsupported {
		t.Errorf("exit code %d, want %d", code, exitUnsupported)
	}
	if got := err.Error(); !strings.HasPrefix(got, "driver xts-aes-wide cannot run on this CPU: ") || !strings.Contains(got, "avx512f") {
		t.Errorf("got %q", got)
	}
	other := errors.New("x")
	if got := explainDriver(other); got != other {
		t.Errorf("another error: got %v", got)
	}
}

// A driver that the CPU cannot run is refused when it is asked for.
func TestUnusableDriver(t *testing.T) {
	tested := false
	for _, d := range decrypt.Drivers() {
		if d.Needs == 0 || d.Algorithm != testPolicy.Contents.Algorithm() {
			continue
		}
		tested = true
		o := driverOptions{SelfTest: "lazy", Driver: d.Name, ClearCPU: d.Needs.String()}
		_, err := o.forPolicy(testPolicy, nil)
		if code, _ := classify(err); code != exitUnsupported {
			t.Errorf("%s without %v: %v, code %d, want %d", d.Name, d.Needs, err, code, exitUnsupported)
		}
	}
	if !tested {
		t.Skip("this build has no driver of xts(aes) that needs a CPU feature")
	}
}
