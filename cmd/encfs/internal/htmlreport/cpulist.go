package htmlreport

import (
	"slices"
	"strconv"
	"strings"
)

// cpuList returns numbers of CPUs as Linux writes them, such as 0-3,6.
func cpuList(cpus []int) string {
	if len(cpus) == 0 {
		return "any"
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(cpus)))
	var parts []string
	for i := 0; i < len(sorted); {
		last := i
		for last+1 < len(sorted) && sorted[last+1] == sorted[last]+1 {
			last++
		}
		part := strconv.Itoa(sorted[i])
		if last > i {
			part += "-" + strconv.Itoa(sorted[last])
		}
		parts = append(parts, part)
		i = last + 1
	}
	return strings.Join(parts, ",")
}
