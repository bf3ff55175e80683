package cpufeat

import (
	"fmt"
	"strings"
)

// A Detection is what a machine reported about itself and what of it a program
// may use. It is plain data, the same each time, and safe for concurrent use as
// long as nobody writes to it.
type Detection struct {
	Arch   string // GOARCH
	OS     string // GOOS
	Source string // who reported: "CPUID", "AT_HWCAP", "Apple silicon", or "" for nobody

	Reported Set        // by Source, whether or not it may be used
	Features Set        // what may be used: Reported without all that is Withheld
	Withheld []Withheld // in the order of detection, and disjoint

	CPUID    CPUID  // amd64
	ReadXCR0 bool   // amd64: XGETBV was there to be executed
	XCR0     uint64 // amd64: register state that the operating system preserves

	HWCAP, HWCAP2 uint64 // arm64 on Linux
}

// CPUID is what the instruction of that name says apart from features.
type CPUID struct {
	MaxLeaf    uint32
	Vendor     string // "GenuineIntel", "AuthenticAMD"
	Family     int    // with the extended family and model added,
	Model      int    // as /proc/cpuinfo has them
	Stepping   int
	Hypervisor bool // runs in a virtual machine, which may hide features
}

// Withheld is what one cause takes away from the reported features.
type Withheld struct {
	Features Set
	Cause    string // completes "avx2 is not usable: …"
}

// Host returns the features that a program may use on this machine, which is
// Detect().Features. It executes CPUID, which takes microseconds in a virtual
// machine: call it once and pass the Set on.
func Host() Set { return Detect().Features }

// withhold takes the features of f, and what depends on them, away from those
// that may be used.
func (d *Detection) withhold(f Set, cause string) {
	usable := d.Features.Clear(f)
	if taken := d.Features &^ usable; taken != 0 {
		d.Withheld = append(d.Withheld, Withheld{taken, cause})
	}
	d.Features = usable
}

// withholdIncomplete takes away what needs a feature that is not reported. No
// CPU is like that, but hypervisors that hide some features of it are.
func (d *Detection) withholdIncomplete(table []feature) {
	for _, f := range table {
		if !d.Reported.Has(f.bit) {
			d.withhold(f.bit, fmt.Sprintf("%s is needed, which %s does not report", f.name, d.Source))
		}
	}
}

// Explain says why code that needs some features cannot run with those in have,
// which is d.Features or what Clear left of it. It is "" if the code can run.
// What is there comes first, then what is not and the cause:
//
//	aes is there, but avx is not usable: the operating system has not enabled XSAVE (OSXSAVE is clear)
//
// It is a sentence without capital letter and full stop, for a person to read.
func (d Detection) Explain(needs, have Set) string {
	missing := needs &^ have
	if missing == 0 {
		return ""
	}
	if d.Source == "" {
		return fmt.Sprintf("this build detects no features on %s, and %s", d.Arch, d.isAre(missing, "needed"))
	}

	var reasons []string
	for _, w := range d.Withheld {
		if f := missing & w.Features; f != 0 {
			reasons = append(reasons, d.isAre(f, "not usable: "+w.Cause))
		}
	}
	if f := missing &^ d.Reported; f != 0 {
		reasons = append(reasons, d.unreported(f))
	}
	if f := missing & d.Features; f != 0 {
		why := "cleared by choice"
		if with := roots(d.Features&^have, f) &^ f; with != 0 {
			why += ", with " + d.list(with)
		}
		reasons = append(reasons, d.isAre(f, why))
	}

	why := strings.Join(reasons, "; ")
	if there := needs & have; there != 0 {
		return d.isAre(there, "there") + ", but " + why
	}
	return why
}

// unreported says that the features in f are not reported, and what may be
// behind it.
func (d Detection) unreported(f Set) string {
	why := fmt.Sprintf("%s does not report %s", d.Source, d.list(f))
	if d.Source != "CPUID" {
		return why
	}
	var hints []string
	if f&inLeaf7() != 0 && d.CPUID.MaxLeaf < 7 {
		hints = append(hints, fmt.Sprintf("it ends at leaf %d, before the 7 that would", d.CPUID.MaxLeaf))
	}
	if d.CPUID.Hypervisor {
		hints = append(hints, "a virtual machine may hide features")
	}
	if len(hints) > 0 {
		why += " (" + strings.Join(hints, "; ") + ")"
	}
	return why
}

// inLeaf7 returns the features that leaf 7 of CPUID reports.
func inLeaf7() Set {
	var s Set
	for _, f := range amd64Features {
		switch f.word {
		case leaf7EBX, leaf7ECX, leaf7s1EAX:
			s |= f.bit
		}
	}
	return s
}

// isAre returns "a is what" or "a, b and c are what".
func (d Detection) isAre(s Set, what string) string {
	if s&(s-1) == 0 {
		return d.list(s) + " is " + what
	}
	return d.list(s) + " are " + what
}

// list returns the names in s as in prose: "a, b and c".
func (d Detection) list(s Set) string {
	names := s.names(d.Arch)
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
