package workqueue

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// record reads a file of testdata, in which a line has the path and the content
// of a file in sysfs.
func record(t *testing.T, name string) fstest.MapFS {
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	sys := make(fstest.MapFS)
	for line := range strings.Lines(string(b)) {
		path, content, _ := strings.Cut(line, " ")
		sys[path] = &fstest.MapFile{Data: []byte(content)}
	}
	return sys
}

// A sysfs writes trees as the kernel does for machines that could not be
// recorded.
type sysfs fstest.MapFS

func (s sysfs) write(path, content string) {
	s[path] = &fstest.MapFile{Data: []byte(content + "\n")}
}

// newSysfs returns the tree of n CPUs. The threads of a core are n/smt apart, as
// x86 firmware likes to number them; caches and nodes are of cores in sequence.
func newSysfs(n, smt, perCache, nodes int) sysfs {
	s := make(sysfs)
	cores := n / smt
	list := func(first, cores int) string { // of CPUs from the first core on
		var l []string
		for thread := range smt {
			from := first + thread*(n/smt)
			l = append(l, fmt.Sprintf("%d-%d", from, from+cores-1))
		}
		return strings.Join(l, ",")
	}
	for cpu := range n {
		core := cpu % cores
		dir := fmt.Sprintf("devices/system/cpu/cpu%d/", cpu)
		s.write(dir+"topology/thread_siblings_list", list(core, 1))
		for i, c := range []struct{ level, kind, cpus string }{
			{"1", "Data", list(core, 1)},
			{"1", "Instruction", list(core, 1)},
			{"2", "Unified", list(core, 1)},
			{"3", "Unified", list(core/(perCache/smt)*(perCache/smt), perCache/smt)},
		} {
			index := fmt.Sprintf("%scache/index%d/", dir, i)
			s.write(index+"level", c.level)
			s.write(index+"type", c.kind)
			s.write(index+"shared_cpu_list", c.cpus)
		}
	}
	for node := range nodes {
		s.write(fmt.Sprintf("devices/system/node/node%d/cpulist", node), list(node*cores/nodes, cores/nodes))
	}
	s.write("devices/system/node/has_cpu", fmt.Sprintf("0-%d", nodes-1))
	return s
}

func (s sysfs) without(part string) sysfs {
	for path := range s {
		if strings.Contains(path, part) {
			delete(s, path)
		}
	}
	return s
}

func (s sysfs) with(path, content string) sysfs {
	s.write(path, content)
	return s
}

func upTo(n int) []int {
	var cpus []int
	for cpu := range n {
		cpus = append(cpus, cpu)
	}
	return cpus
}

func TestReadTopology(t *testing.T) {
	tests := []struct {
		name             string
		sys              fstest.MapFS
		cpus             []int
		smt, cache, numa string // groups, with blanks between
	}{
		{"AMD EPYC, guest with 2 CPUs", record(t, "epyc-vm-2.sysfs"), upTo(2), "0 1", "0-1", "0-1"},
		{"8 CPUs, 2 caches", fstest.MapFS(newSysfs(8, 1, 4, 1)), upTo(8),
			"0 1 2 3 4 5 6 7", "0-3 4-7", "0-7"},
		{"64 CPUs, 2 threads, 4 caches, 2 nodes", fstest.MapFS(newSysfs(64, 2, 16, 2)), upTo(64),
			"0,32 1,33 2,34 3,35 4,36 5,37 6,38 7,39 8,40 9,41 10,42 11,43 12,44 13,45 14,46 15,47 " +
				"16,48 17,49 18,50 19,51 20,52 21,53 22,54 23,55 24,56 25,57 26,58 27,59 28,60 29,61 30,62 31,63",
			"0-7,32-39 8-15,40-47 16-23,48-55 24-31,56-63", "0-15,32-47 16-31,48-63"},
		{"affinity to some", fstest.MapFS(newSysfs(64, 2, 16, 2)), []int{1, 9, 33, 63},
			"1,33 9 63", "1,33 9 63", "1,9,33 63"},
		{"nothing", fstest.MapFS{}, []int{0, 1, 5}, "0 1 5", "0-1,5", "0-1,5"},
		{"no caches", fstest.MapFS(newSysfs(8, 2, 4, 2).without("/cache/")), upTo(8),
			"0,4 1,5 2,6 3,7", "0-1,4-5 2-3,6-7", "0-1,4-5 2-3,6-7"},
		{"no nodes", fstest.MapFS(newSysfs(8, 2, 4, 2).without("/node/")), upTo(8),
			"0,4 1,5 2,6 3,7", "0-1,4-5 2-3,6-7", "0-7"},
		{"no cores", fstest.MapFS(newSysfs(4, 2, 4, 1).without("/topology/")), upTo(4), "0 1 2 3", "0-3", "0-3"},
		{"no third level", fstest.MapFS(newSysfs(4, 2, 4, 1).without("/index3/")), upTo(4), "0,2 1,3", "0,2 1,3", "0-3"},
		{"damaged lists", fstest.MapFS(newSysfs(2, 1, 2, 1).
			with("devices/system/cpu/cpu0/topology/thread_siblings_list", "0-x").
			with("devices/system/cpu/cpu1/topology/thread_siblings_list", "").
			with("devices/system/cpu/cpu0/cache/index3/level", "three").
			with("devices/system/node/node0/cpulist", "1-0")), upTo(2), "0 1", "0-1", "0-1"},
		{"a node without CPUs", fstest.MapFS(newSysfs(2, 1, 2, 1).
			with("devices/system/node/node1/cpulist", "")), upTo(2), "0 1", "0-1", "0-1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			topology := readTopology(tt.sys, tt.cpus)
			for _, scope := range []struct {
				Scope
				want string
			}{
				{ScopeSMT, tt.smt}, {ScopeCache, tt.cache}, {ScopeNUMA, tt.numa},
				{ScopeSystem, FormatCPUs(tt.cpus)},
			} {
				var got []string
				for _, group := range topology.groups(tt.cpus, scope.Scope) {
					got = append(got, FormatCPUs(group))
				}
				if got := strings.Join(got, " "); got != scope.want {
					t.Errorf("%v:\n got %s\nwant %s", scope.Scope, got, scope.want)
				}
			}
		})
	}
}
