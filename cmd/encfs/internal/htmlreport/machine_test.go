package htmlreport

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"encfs/cpufeat"
)

// files makes a file system of lines "path: content".
func files(lines string) fstest.MapFS {
	m := fstest.MapFS{}
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		path, content, _ := strings.Cut(strings.TrimSpace(line), ": ")
		m[path] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(content, "|", "\n") + "\n")}
	}
	return m
}

func find(facts []Fact, name string) string {
	for _, f := range facts {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

func TestMachine(t *testing.T) {
	root := files(`
		proc/cpuinfo: processor	: 0|model name	: Example CPU @ 3 GHz|flags		: fpu aes hypervisor||processor	: 1|model name	: Other
		proc/meminfo: MemTotal:        8388608 kB|MemFree: 1 kB
		proc/sys/kernel/ostype: Linux
		proc/sys/kernel/osrelease: 6.12.1
		sys/devices/system/cpu/online: 0-10
		sys/devices/system/cpu/cpufreq/policy: x
		sys/devices/system/cpu/cpu0/topology/core_cpus_list: 0,2
		sys/devices/system/cpu/cpu2/topology/core_cpus_list: 0,2
		sys/devices/system/cpu/cpu10/topology/thread_siblings_list: 10
		sys/devices/system/cpu/cpu0/cpufreq/scaling_governor: powersave
		sys/devices/system/cpu/cpu2/cpufreq/scaling_governor: powersave
		sys/devices/system/cpu/cpu10/cpufreq/scaling_governor: performance
		sys/devices/system/cpu/cpu0/cache/index0/level: 1
		sys/devices/system/cpu/cpu0/cache/index0/type: Data
		sys/devices/system/cpu/cpu0/cache/index0/size: 32K
		sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list: 0,2
		sys/devices/system/cpu/cpu10/cache/index0/level: 1
		sys/devices/system/cpu/cpu10/cache/index0/type: Data
		sys/devices/system/cpu/cpu10/cache/index0/size: 32K
		sys/devices/system/cpu/cpu10/cache/index0/shared_cpu_list: 10
		sys/devices/system/cpu/cpu10/cache/index1/level: 2
		sys/devices/system/cpu/cpu10/cache/index1/type: Unified
		sys/devices/system/cpu/cpu10/cache/index1/size: 1M
		sys/devices/system/cpu/cpu10/cache/index1/shared_cpu_list: 0,2,10
		sys/devices/system/node/node0/cpulist: 0-10
		sys/devices/system/node/node1/cpulist:
	`)
	facts := Machine(root, cpufeat.Set(0))
	for name, want := range map[string]string{
		"CPU":               "Example CPU @ 3 GHz, in a virtual machine",
		"Cores":             "2, of CPUs 0,2 10",
		"L1 cache, data":    "32K: 2, of CPUs 0,2 10",
		"L2 cache, unified": "1M: 1, of CPUs 0,2,10",
		"Memory nodes":      "1, of CPUs 0-10",
		"Governor":          "powersave, performance",
		"Memory":            "8.0 GiB",
		"Kernel":            "Linux 6.12.1",
	} {
		if got := find(facts, name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if got := find(facts, "CPUs"); !strings.HasSuffix(got, " usable, online 0-10") {
		t.Errorf("CPUs: got %q", got)
	}
	if arm := Machine(files("proc/cpuinfo: CPU implementer	: 0x41|CPU part	: 0xd0c"), 0); find(arm, "CPU") != "implementer 0x41, part 0xd0c" {
		t.Errorf("arm64: got %q", find(arm, "CPU"))
	}
}

// A machine that tells nothing has a page all the same.
func TestMachineSilent(t *testing.T) {
	var names []string
	for _, f := range Machine(fstest.MapFS{}, 0) {
		names = append(names, f.Name)
		if f.Value == "" {
			t.Errorf("%s is empty", f.Name)
		}
	}
	if want := []string{"Tier", "CPUs", "Go"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}

func TestOfCPUs(t *testing.T) {
	var many []string
	for i := range 17 {
		many = append(many, fmt.Sprint(i))
	}
	for _, tt := range []struct {
		lists []string
		want  string
	}{
		{nil, ""},
		{[]string{"0-3"}, "1, of CPUs 0-3"},
		{many[:16], "16, of CPUs 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15"},
		{many, "17, of CPUs 0 1 2 3 4 5 6 7 … 9 10 11 12 13 14 15 16"},
	} {
		if got := ofCPUs(tt.lists); got != tt.want {
			t.Errorf("%d lists: got %q, want %q", len(tt.lists), got, tt.want)
		}
	}
}
