package metadata

import (
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// A memoryController is a version of control groups, as it limits memory.
type memoryController struct {
	name       string // in the second field of /proc/self/cgroup
	mount      string
	max, usage string // files with bytes
}

var memoryControllers = []memoryController{
	{"", "sys/fs/cgroup", "memory.max", "memory.current"},
	{"memory", "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"},
}

// availableMemory returns how many bytes the process can still use without being
// killed for it: MemAvailable of /proc/meminfo, or less if its control group or one
// above has less left. root is the root directory. ok is false if the system does
// not say.
func availableMemory(root fs.FS) (bytes uint64, ok bool) {
	bytes = math.MaxUint64
	if kib, found := field(root, "proc/meminfo", "MemAvailable:"); found && kib < math.MaxUint64>>10 {
		bytes, ok = kib<<10, true
	}
	b, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return bytes, ok
	}
	// Lines are number:controllers:path.
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 {
			continue
		}
		for _, c := range memoryControllers {
			if f[1] != c.name {
				continue
			}
			for group := path.Clean("/" + f[2]); ; group = path.Dir(group) {
				if left, found := c.left(root, path.Join(c.mount, group)); found {
					bytes, ok = min(bytes, left), true
				}
				if group == "/" {
					break
				}
			}
		}
	}
	return bytes, ok
}

// left returns what a group's limit leaves, page cache that can be dropped
// included. found is false if there is no limit.
func (c memoryController) left(root fs.FS, group string) (bytes uint64, found bool) {
	limit, found := number(root, path.Join(group, c.max))
	if !found { // "max" is no number
		return 0, false
	}
	usage, found := number(root, path.Join(group, c.usage))
	if !found {
		return 0, false
	}
	stat := path.Join(group, "memory.stat")
	for _, name := range []string{"active_file", "inactive_file"} {
		cached, _ := field(root, stat, name)
		usage -= min(usage, cached)
	}
	return limit - min(limit, usage), true
}

// number returns the number that is all of a file.
func number(root fs.FS, name string) (uint64, bool) {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}

// field returns the number that follows key on a line of a file.
func field(root fs.FS, name, key string) (uint64, bool) {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == key {
			n, err := strconv.ParseUint(f[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
