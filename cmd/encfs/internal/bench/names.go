package bench

import (
	"strconv"
	"strings"
)

// Results have the names that Go's benchmark format gives them, in JSON too, so that
// Compare finds in one file what is in another, whatever the form of either.

// A namePart is a key with its value; it is left out if that is empty.
type namePart struct{ key, value string }

// joinName returns the name of a benchmark.
func joinName(kind string, parts ...namePart) string {
	var b strings.Builder
	b.WriteString(kind)
	for _, p := range parts {
		if p.value != "" {
			b.WriteString("/" + p.key + "=" + p.value)
		}
	}
	return b.String()
}

// clearedSets are the sets of CPU features that were cleared for the results of a file.
// Names have them only if there are several: otherwise two files with and without a
// feature could not be compared.
type clearedSets map[string]bool

func (s clearedSets) add(cleared []string) { s[strings.Join(cleared, ",")] = true }

// part returns the part of a name that says which features were cleared.
func (s clearedSets) part(cleared []string) namePart {
	switch {
	case len(s) < 2:
		return namePart{}
	case len(cleared) == 0:
		return namePart{"cleared", "none"}
	}
	return namePart{"cleared", strings.Join(cleared, ",")}
}

func (r *CipherResult) name(sets clearedSets) string {
	unit := ""
	if r.UnitBytes != 0 {
		unit = strconv.Itoa(r.UnitBytes)
	}
	return joinName("Cipher", namePart{"driver", r.Driver}, namePart{"direction", r.Direction}, namePart{"unit", unit}, sets.part(r.Cleared))
}

// name returns the name of the rate of an algorithm, or of the total.
func (r *StressResult) name(algorithm string, sets clearedSets) string {
	return joinName("Stress/"+strings.ReplaceAll(algorithm, " ", "_"), sets.part(r.Cleared))
}

// stressTotal is in the place of an algorithm.
const stressTotal = "total"

func (r *TarResult) name(sets clearedSets) string {
	simulated := ""
	if r.Simulated {
		simulated = "true"
	}
	return joinName("Tar", namePart{"cipher", r.Cipher}, namePart{"driver", r.Driver}, r.clearedPart(sets),
		namePart{"cpus", joinNumbers(r.CPUs)}, namePart{"completion", joinNumbers(r.CompletionCPUs)}, namePart{"jobs", strconv.Itoa(r.Jobs)},
		namePart{"queue", r.Queue}, namePart{"scope", r.Scope}, namePart{"simulated", simulated}, namePart{"cache", r.Cache})
}

func (r *SimulatedResult) name(sets clearedSets) string {
	return joinName("Simulate", namePart{"topology", r.Topology}, namePart{"cipher", r.Cipher}, namePart{"driver", r.Driver}, r.clearedPart(sets),
		namePart{"completion", joinNumbers(r.CompletionCPUs)}, namePart{"jobs", strconv.Itoa(r.Jobs)},
		namePart{"queue", r.Queue}, namePart{"scope", r.Scope}, namePart{"cache", r.Cache})
}

// clearedPart leaves it out of results that have no use for CPU features.
func (r *TarResult) clearedPart(sets clearedSets) namePart {
	if IsBaseline(*r) {
		return namePart{}
	}
	return sets.part(r.Cleared)
}
