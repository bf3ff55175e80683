package workqueue

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// readTopology reads where CPUs, given in ascending order, are from sysfs, of
// which sys is the root (Documentation/ABI/stable/sysfs-devices-node and
// testing/sysfs-devices-system-cpu). What cannot be read makes a group: all CPUs
// are one node, those of a node share a cache, and a CPU is a core by itself.
// Otherwise a group has the number of its first CPU.
func readTopology(sys fs.FS, cpus []int) Topology {
	const unknown = -1
	var t Topology
	for _, cpu := range cpus {
		t = append(t, Place{CPU: cpu, Core: unknown, Cache: unknown})
	}
	nodes, _ := fs.Glob(sys, "devices/system/node/node[0-9]*")
	for _, node := range nodes {
		t.share(readText(sys, node, "cpulist"), func(p *Place) *int { return &p.Node })
	}
	// Sharing is mutual, so the file of one CPU serves all that it names.
	for i := range t {
		p := &t[i]
		dir := "devices/system/cpu/cpu" + strconv.Itoa(p.CPU)
		if p.Core == unknown {
			p.Core = p.CPU
			t.share(readText(sys, dir, "topology/thread_siblings_list"), func(p *Place) *int { return &p.Core })
		}
		if p.Cache == unknown {
			p.Cache = p.Node
			t.share(lastLevelCache(sys, dir), func(p *Place) *int { return &p.Cache })
		}
	}
	return t
}

// share gives the CPUs in the list the first of them as their group. A list that
// makes no sense changes nothing.
func (t Topology) share(list string, group func(*Place) *int) {
	cpus, err := ParseCPUs(list)
	if err != nil {
		return
	}
	for i := range t {
		if _, in := slices.BinarySearch(cpus, t[i].CPU); in {
			*group(&t[i]) = cpus[0]
		}
	}
}

// lastLevelCache returns the list of the CPUs that share the last level cache
// with the CPU of the directory.
func lastLevelCache(sys fs.FS, dir string) string {
	indexes, _ := fs.Glob(sys, path.Join(dir, "cache/index[0-9]*"))
	last, list := 0, ""
	for _, index := range indexes {
		level, err := strconv.Atoi(readText(sys, index, "level"))
		if err == nil && level > last && readText(sys, index, "type") != "Instruction" {
			last, list = level, readText(sys, index, "shared_cpu_list")
		}
	}
	return list
}

// readText returns the text of a file in a directory, or none.
func readText(sys fs.FS, dir, name string) string {
	b, _ := fs.ReadFile(sys, path.Join(dir, name))
	return strings.TrimSpace(string(b))
}
