package htmlreport

import (
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"encfs/cpufeat"
)

// Machine describes the machine as Linux tells of it in /proc and /sys, which are below
// root, with the features that its CPUs have. What it does not tell is left out. There
// is nothing in it that names the machine or its users.
func Machine(root fs.FS, have cpufeat.Set) []Fact {
	var facts []Fact
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, Fact{name, value})
		}
	}
	add("CPU", cpuModel(root))
	add("Tier", have.Tier().Name)
	add("Features", strings.ReplaceAll(have.String(), ",", ", "))
	add("CPUs", cpuCount(root))
	add("Cores", sharing(root, "topology/core_cpus_list", "topology/thread_siblings_list"))
	add("Memory nodes", memoryNodes(root))
	facts = append(facts, caches(root)...)
	add("Governor", governors(root))
	add("Memory", memory(root))
	add("Kernel", strings.TrimSpace(readText(root, "proc/sys/kernel/ostype")+" "+readText(root, "proc/sys/kernel/osrelease")))
	add("Go", runtime.Version()+" "+runtime.GOOS+"/"+runtime.GOARCH)
	return facts
}

const cpuDir = "sys/devices/system/cpu"

// readText returns the text of a file on one line, "" if it cannot be read.
func readText(root fs.FS, name string) string {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// procField returns the first value of a field in a file of lines "name : value".
func procField(root fs.FS, file, name string) string {
	for line := range strings.Lines(readText(root, file)) {
		if field, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(field) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// cpuModel returns the name of the CPU, on arm64 the numbers in its place, and whether
// there is a hypervisor.
func cpuModel(root fs.FS) string {
	const file = "proc/cpuinfo"
	model := procField(root, file, "model name")
	if model == "" {
		if part := procField(root, file, "CPU part"); part != "" {
			model = "implementer " + procField(root, file, "CPU implementer") + ", part " + part
		}
	}
	if slices.Contains(strings.Fields(procField(root, file, "flags")), "hypervisor") {
		model += ", in a virtual machine"
	}
	return model
}

func cpuCount(root fs.FS) string {
	usable := fmt.Sprintf("%d usable", runtime.NumCPU())
	if online := readText(root, cpuDir+"/online"); online != "" {
		usable += ", online " + online
	}
	return usable
}

// cpus returns the folders of the CPUs, in the order of their numbers.
func cpus(root fs.FS) []string {
	entries, err := fs.ReadDir(root, cpuDir)
	if err != nil {
		return nil
	}
	var numbers []int
	for _, e := range entries {
		if n, err := strconv.Atoi(strings.TrimPrefix(e.Name(), "cpu")); err == nil && n >= 0 && strings.HasPrefix(e.Name(), "cpu") {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	dirs := make([]string, len(numbers))
	for i, n := range numbers {
		dirs[i] = cpuDir + "/cpu" + strconv.Itoa(n)
	}
	return dirs
}

// sharing returns the lists of CPUs in a file that each of them has, under the first of
// the names that is there.
func sharing(root fs.FS, names ...string) string {
	var lists []string
	for _, dir := range cpus(root) {
		for _, name := range names {
			if list := readText(root, dir+"/"+name); list != "" {
				if !slices.Contains(lists, list) {
					lists = append(lists, list)
				}
				break
			}
		}
	}
	return ofCPUs(lists)
}

// ofCPUs says how many lists of CPUs there are and what is in them, of many lists in the
// first and the last ones. It returns "" of none.
func ofCPUs(lists []string) string {
	const shown = 16
	count := len(lists)
	switch {
	case count == 0:
		return ""
	case count > shown:
		lists = slices.Concat(lists[:shown/2], []string{"…"}, lists[count-shown/2:])
	}
	return fmt.Sprintf("%d, of CPUs %s", count, strings.Join(lists, " "))
}

func memoryNodes(root fs.FS) string {
	dirs, err := fs.Glob(root, "sys/devices/system/node/node[0-9]*")
	if err != nil {
		return ""
	}
	var lists []string
	for _, dir := range dirs {
		if list := readText(root, dir+"/cpulist"); list != "" { // a node can be memory alone
			lists = append(lists, list)
		}
	}
	return ofCPUs(lists)
}

// caches returns a fact for each kind and size of cache: how many there are, and which
// CPUs share one.
func caches(root fs.FS) []Fact {
	type kind struct{ level, typ, size string }
	var kinds []kind
	lists := map[kind][]string{}
	for _, cpu := range cpus(root) {
		dirs, err := fs.Glob(root, cpu+"/cache/index[0-9]*")
		if err != nil {
			continue
		}
		for _, dir := range dirs {
			k := kind{readText(root, dir+"/level"), readText(root, dir+"/type"), readText(root, dir+"/size")}
			shared := readText(root, dir+"/shared_cpu_list")
			if k.level == "" || shared == "" {
				continue
			}
			if !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
			if !slices.Contains(lists[k], shared) {
				lists[k] = append(lists[k], shared)
			}
		}
	}
	var facts []Fact
	for _, k := range kinds {
		facts = append(facts, Fact{"L" + k.level + " cache, " + strings.ToLower(k.typ), k.size + ": " + ofCPUs(lists[k])})
	}
	return facts
}

// governors returns how the clocks are governed.
func governors(root fs.FS) string {
	var found []string
	for _, dir := range cpus(root) {
		if g := readText(root, dir+"/cpufreq/scaling_governor"); g != "" && !slices.Contains(found, g) {
			found = append(found, g)
		}
	}
	return strings.Join(found, ", ")
}

// memory returns how much there is, in GiB.
func memory(root fs.FS) string {
	kib, ok := strings.CutSuffix(procField(root, "proc/meminfo", "MemTotal"), " kB")
	n, err := strconv.ParseFloat(kib, 64)
	if !ok || err != nil {
		return ""
	}
	return fmt.Sprintf("%.1f GiB", n/(1<<20))
}
