package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"encfs/cpufeat"
	"encfs/decrypt"
)

func newCPUCommand() *cobra.Command {
	var clear string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "cpu [flags]",
		Short: "Show the CPU's features, and what they lead to",
		Long: `Show the features of the CPU as it and the operating system report them, which of
them can be used, and the drivers that this leads to. What keeps the CPU from the
next tier of drivers is said in words.`,
		Args: argsOfUse,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cleared, err := cpufeat.Parse(clear)
			if err != nil {
				return usagef("--clear-cpu: %w", err)
			}
			s, err := describeCPU(cpufeat.Detect(), cleared, cpufeat.Tiers())
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), s)
			}
			return s.print(cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&clear, "clear-cpu", "", "take the CPU not to have the features in `LIST`, such as aes,avx2")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// cpuStatus is what cpu shows, in the form of its JSON.
type cpuStatus struct {
	Arch     string            `json:"arch"`
	OS       string            `json:"os"`
	Source   string            `json:"source"` // of what is reported: CPUID, AT_HWCAP
	CPU      string            `json:"cpu,omitempty"`
	OSXSAVE  *bool             `json:"osxsave,omitempty"` // amd64
	XCR0     string            `json:"xcr0,omitempty"`    // amd64, if it can be read
	HWCAP    string            `json:"hwcap,omitempty"`   // arm64
	HWCAP2   string            `json:"hwcap2,omitempty"`
	Reported []string          `json:"reported"`
	Features []string          `json:"features"` // that can be used
	Cleared  []string          `json:"cleared"`  // by choice, with what depends on them
	Withheld []withheldStatus  `json:"withheld"`
	Tier     string            `json:"tier"`
	Next     *nextTier         `json:"next,omitempty"` // nil: there is none
	Drivers  map[string]string `json:"drivers"`        // by algorithm

	algorithms []string // in order
}

type withheldStatus struct {
	Features []string `json:"features"`
	Cause    string   `json:"cause"`
}

// nextTier is the tier above, and what is missing for it.
type nextTier struct {
	Name    string   `json:"name"`
	Missing []string `json:"missing"`
	Why     string   `json:"why"`
}

func describeCPU(d cpufeat.Detection, cleared cpufeat.Set, tiers []cpufeat.Tier) (*cpuStatus, error) {
	have := d.Features.Clear(cleared)
	s := &cpuStatus{
		Arch: d.Arch, OS: d.OS, Source: d.Source,
		Reported: featureNames(d.Reported), Features: featureNames(have), Cleared: featureNames(d.Features &^ have),
		Withheld: []withheldStatus{}, Tier: have.Tier().Name, Drivers: map[string]string{},
	}
	switch d.Source {
	case "CPUID":
		s.CPU = fmt.Sprintf("%s family %d model %d stepping %d", d.CPUID.Vendor, d.CPUID.Family, d.CPUID.Model, d.CPUID.Stepping)
		if d.CPUID.Hypervisor {
			s.CPU += ", in a virtual machine"
		}
		osxsave := d.Reported.Has(cpufeat.OSXSAVE)
		s.OSXSAVE = &osxsave
		if d.ReadXCR0 {
			s.XCR0 = fmt.Sprintf("%#x", d.XCR0)
		}
	case "AT_HWCAP":
		s.HWCAP, s.HWCAP2 = fmt.Sprintf("%#x", d.HWCAP), fmt.Sprintf("%#x", d.HWCAP2)
	}
	for _, w := range d.Withheld {
		s.Withheld = append(s.Withheld, withheldStatus{featureNames(w.Features), w.Cause})
	}
	if i := slices.IndexFunc(tiers, func(t cpufeat.Tier) bool { return t.Name == s.Tier }) + 1; i < len(tiers) {
		next := tiers[i]
		s.Next = &nextTier{next.Name, featureNames(next.Needs &^ have), d.Explain(next.Needs, have)}
		if s.Next.Why == "" {
			s.Next.Why = "all is there, but this CPU lowers its clock while ZMM registers are in use"
		}
	}
	table, err := decrypt.NewTable(have, decrypt.SelfTestOff, nil)
	if err != nil {
		return nil, err
	}
	for _, a := range decrypt.Algorithms() {
		if !forFiles(a.Name) {
			continue
		}
		driver, err := table.Lookup(a.Name)
		if err != nil {
			return nil, err
		}
		s.Drivers[a.Name] = driver.Name
		s.algorithms = append(s.algorithms, a.Name)
	}
	return s, nil
}

func (s *cpuStatus) print(w io.Writer) error {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "%-9s %s\n", label, fmt.Sprintf(format, args...))
	}
	list := func(names []string) string {
		if len(names) == 0 {
			return "none"
		}
		return strings.Join(names, ",")
	}
	switch s.Source {
	case "":
		line("source", "none: this build for %s detects nothing", s.Arch)
	default:
		line("source", "%s", s.Source)
	}
	if s.CPU != "" {
		line("cpu", "%s", s.CPU)
	}
	if s.OSXSAVE != nil {
		set := "clear"
		if *s.OSXSAVE {
			set = "set"
		}
		line("osxsave", "%s", set)
		if s.XCR0 == "" {
			line("xcr0", "cannot be read")
		} else {
			line("xcr0", "%s", s.XCR0)
		}
	}
	if s.HWCAP != "" {
		line("hwcap", "%s", s.HWCAP)
		line("hwcap2", "%s", s.HWCAP2)
	}
	line("reported", "%s", list(s.Reported))
	for _, w := range s.Withheld {
		line("withheld", "%s: %s", list(w.Features), w.Cause)
	}
	if len(s.Cleared) > 0 {
		line("cleared", "%s", list(s.Cleared))
	}
	line("usable", "%s", list(s.Features))
	line("tier", "%s", s.Tier)
	if s.Next == nil {
		line("next", "none: this is the highest")
	} else {
		line("next", "%s: %s", s.Next.Name, s.Next.Why)
	}
	for _, a := range s.algorithms {
		line("driver", "%s for %s", s.Drivers[a], a)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
