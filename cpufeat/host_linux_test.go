//go:build (amd64 || arm64) && !purego

package cpufeat

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestHostAgreesWithKernel compares Host with what the kernel prints.
func TestHostAgreesWithKernel(t *testing.T) {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Skipf("no /proc/cpuinfo: %v", err)
	}
	cpu := firstCPU(string(text))
	key := map[string]string{"amd64": "flags", "arm64": "Features"}[runtime.GOARCH]
	if cpu[key] == "" {
		t.Skipf("no line %q in /proc/cpuinfo", key)
	}
	d := Detect()
	if runtime.GOARCH == "amd64" {
		got := fmt.Sprint(d.CPUID.Vendor, d.CPUID.Family, d.CPUID.Model, d.CPUID.Stepping)
		want := cpu["vendor_id"] + cpu["cpu family"] + " " + cpu["model"] + " " + cpu["stepping"]
		if got != want {
			t.Skipf("user-mode emulation: CPUID is of %s, /proc/cpuinfo of %s", got, want)
		}
	}
	if line, err := os.ReadFile("/proc/cmdline"); err == nil && strings.Contains(string(line), "clearcpuid=") {
		t.Skip("the kernel was told by clearcpuid not to see features that CPUID reports")
	}

	printed := strings.Fields(cpu[key])
	for _, f := range featuresOf(runtime.GOARCH) {
		if f.bit&(OSXSAVE|PreferYMM) != 0 {
			continue // the kernel has no names for them
		}
		if got, want := d.Features.Has(f.bit), slices.Contains(printed, f.name); got != want {
			t.Errorf("%s: Host says %v, the kernel %v", f.name, got, want)
		}
	}
}

// firstCPU returns the keys and values of the first CPU in /proc/cpuinfo.
func firstCPU(text string) map[string]string {
	cpu := make(map[string]string)
	text, _, _ = strings.Cut(text, "\n\n")
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		cpu[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	return cpu
}

func TestDetectHost(t *testing.T) {
	d := Detect()
	checkDetection(t, d, featuresOf(runtime.GOARCH))
	if d.Arch != runtime.GOARCH || d.OS != runtime.GOOS || d.Source == "" {
		t.Errorf("got %s, %s, source %q", d.Arch, d.OS, d.Source)
	}
	if d.Features != Host() {
		t.Errorf("Detect has %v, Host %v", d.Features, Host())
	}
	// What the compiler's own code relies on.
	base := map[string]Set{"amd64": SSE2, "arm64": FP | ASIMD}[runtime.GOARCH]
	if !d.Features.Has(base) {
		t.Errorf("got %v without %v", d.Features, base&^d.Features)
	}
}
