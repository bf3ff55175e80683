package workqueue

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxCPUs is larger than the number of any CPU: the largest CONFIG_NR_CPUS of a
// Linux kernel.
const maxCPUs = 8192

// ParseCPUs reads a list of CPUs as the kernel writes it, such as "0-3,6", and
// returns the numbers in ascending order, each once. The list has at least one
// CPU; an error names the part that is wrong.
func ParseCPUs(list string) ([]int, error) {
	var cpus []int
	for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 10, 31)
		last, err2 := strconv.ParseUint(to, 10, 31)
		if err1 != nil || err2 != nil || last < first || last >= maxCPUs {
			return nil, fmt.Errorf("list of CPUs %q: %q is neither a CPU below %d nor a range of them", list, part, maxCPUs)
		}
		for cpu := first; cpu <= last; cpu++ {
			cpus = append(cpus, int(cpu))
		}
	}
	return sortCPUs(cpus), nil
}

// FormatCPUs writes CPUs as ParseCPUs reads them, with ranges where it can. The
// numbers may be in any order.
func FormatCPUs(cpus []int) string {
	cpus = sortCPUs(cpus)
	var b strings.Builder
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(cpus[i]))
		if j > i {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(cpus[j]))
		}
		i = j + 1
	}
	return b.String()
}

// sortCPUs returns the numbers in ascending order, each once, in a new slice.
func sortCPUs(cpus []int) []int {
	return slices.Compact(slices.Sorted(slices.Values(cpus)))
}

// A CPUError means that a queue was to run on CPUs that the process may not use.
type CPUError struct {
	CPUs    []int // those that are not allowed
	Allowed []int // the affinity mask of the process
}

func (e *CPUError) Error() string {
	return fmt.Sprintf("CPU %s is not among those that the process may use (%s)", FormatCPUs(e.CPUs), FormatCPUs(e.Allowed))
}
