package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"encfs/cmd/encfs/internal/bench"
	"encfs/cpufeat"
	"encfs/decrypt"
	"encfs/workqueue"
)

// tarFlags are the flags that make the cells of bench tar.
type tarFlags struct {
	cellLists
	jobs, cpus, caches, completion string

	selfTest driverFlags
}

func (f *tarFlags) add(flags *pflag.FlagSet) {
	f.cellLists.add(flags, "measure", "aes-256-xts")
	flags.StringVar(&f.pipeline.CPUs, "queue-cpus", "", "CPUs that workers may use, a `LIST` such as 0-3,6")
	flags.StringVar(&f.jobs, "jobs", "", "have so many tars at the same time, a `LIST` of numbers; by default powers of two up to twice the CPUs")
	flags.StringVar(&f.cpus, "cpus", "", "have the mount and the tars use so many CPUs, the first of those that encfs itself may use: a `LIST` of numbers; by default all")
	flags.StringVar(&f.completion, "completion-cpus", "", "have ciphertext arrive on the CPUs in `LIST` only: one stands for storage with a single queue; by default on the CPU that asks for it")
	flags.StringVar(&f.caches, "cache", cacheCold, "measure with the mount's page cache empty, full, or both: a `LIST` of cold, warm")
	f.selfTest.addSelfTest(flags)
}

// plan returns a plan of all combinations, on a process that may use the CPUs in own.
// Its errors are of usage, or say what the CPU cannot do.
func (f *tarFlags) plan(own []int) (*tarPlan, error) {
	cells, err := f.cells.cells()
	if err != nil {
		return nil, err
	}
	if _, err := f.checkCPUs(own); err != nil { // before a queue says it without the flag
		return nil, err
	}
	queues, err := f.parseQueues()
	if err != nil {
		return nil, err
	}
	ciphers, err := f.parseTarCiphers()
	if err != nil {
		return nil, err
	}
	drivers, err := f.parseDrivers(ciphers)
	if err != nil {
		return nil, err
	}
	caches, err := parseWords("cache", f.caches, cacheCold, cacheWarm)
	if err != nil {
		return nil, err
	}
	slices.Sort(caches)
	counts, err := parseNumbers("cpus", cmp.Or(f.cpus, strconv.Itoa(len(own))), len(own))
	if err != nil {
		return nil, err
	}
	jobs, err := parseNumbers("jobs", cmp.Or(f.jobs, defaultJobs(slices.Max(counts))), 0)
	if err != nil {
		return nil, err
	}
	p := &tarPlan{caches: caches}
	group := 0
	for _, n := range counts {
		base := tarSetup{cpus: own[:n], cleared: []string{}}
		if base.completion, err = f.checkCPUs(base.cpus); err != nil {
			return nil, err
		}
		for _, base.jobs = range jobs {
			base.group = group
			p.addBaselines(base, f.selfTest.selfTest.value, ciphers, queues)
			group++
			for _, c := range cells {
				for _, cipher := range ciphers {
					for _, driver := range driversFor(cipher, drivers) {
						s := base
						s.group, s.cipher, s.cleared = group, cipher, c.cleared
						group++
						if s.driver, err = contentsDriver(cipher, driver, c.have); err != nil {
							return nil, err
						}
						s.pipeline.Drivers = driverOptions{Driver: driver, ClearCPU: strings.Join(c.cleared, ","), SelfTest: f.selfTest.selfTest.value}
						p.addQueues(s, queues)
					}
				}
			}
		}
	}
	return p, nil
}

// defaultJobs returns powers of two up to twice the number of CPUs, and that.
func defaultJobs(cpus int) string {
	list := ""
	for n := 1; n < 2*cpus; n *= 2 {
		list += strconv.Itoa(n) + ","
	}
	return list + strconv.Itoa(2*cpus)
}

// driversFor returns the names of those drivers that a cipher has, or "" for the best.
func driversFor(c tarCipher, drivers []decrypt.Driver) []string {
	var names []string
	for _, d := range drivers {
		if d.Algorithm == c.algorithm() && !slices.Contains(names, d.Name) {
			names = append(names, d.Name)
		}
	}
	if names == nil {
		return []string{""}
	}
	return names
}

// contentsDriver returns the driver that decrypts contents on a CPU, "" if nothing is
// decrypted.
func contentsDriver(c tarCipher, name string, have cpufeat.Set) (string, error) {
	if c.name == bench.NoCipher {
		return "", nil
	}
	if name == "" {
		d, err := decrypt.Lookup(c.algorithm(), have)
		return d.Name, err
	}
	d, err := decrypt.LookupName(name)
	if err == nil && !have.Has(d.Needs) {
		err = explainDriver(&decrypt.UnusableError{Driver: d, Have: have})
	}
	return d.Name, err
}

// checkCPUs checks the CPUs of queues against those that a mount may use, and returns
// those on which ciphertext arrives.
func (f *tarFlags) checkCPUs(cpus []int) ([]int, error) {
	var completion []int
	for _, list := range []struct {
		flag, value string
	}{{"queue-cpus", f.pipeline.CPUs}, {"completion-cpus", f.completion}} {
		if list.value == "" {
			continue
		}
		asked, err := workqueue.ParseCPUs(list.value)
		if err != nil {
			return nil, usagef("--%s: %w", list.flag, err)
		}
		bad := slices.DeleteFunc(slices.Clone(asked), func(cpu int) bool { return slices.Contains(cpus, cpu) })
		if len(bad) > 0 {
			return nil, usagef("--%s: %w", list.flag, &workqueue.CPUError{CPUs: bad, Allowed: cpus})
		}
		if list.flag == "completion-cpus" {
			completion = asked
		}
	}
	return append([]int{}, completion...), nil
}

// parseWords returns the words of a list, each once. There is at least one, and all are
// known.
func parseWords(flag, list string, known ...string) ([]string, error) {
	var words []string
	for _, word := range splitList(list) {
		word = strings.ToLower(word)
		if !slices.Contains(known, word) {
			return nil, usagef("--%s %s: unknown; known are %s", flag, word, strings.Join(known, ", "))
		}
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	if words == nil {
		return nil, usagef("--%s: must not be empty", flag)
	}
	return words, nil
}

// parseNumbers returns the numbers of a list, each once: at least one, from 1 to most, or
// to any if that is 0.
func parseNumbers(flag, list string, most int) ([]int, error) {
	var numbers []int
	for _, word := range splitList(list) {
		n, err := strconv.Atoi(word)
		switch {
		case err != nil:
			return nil, usagef("--%s %s: not a whole number", flag, word)
		case n < 1:
			return nil, usagef("--%s %s: less than 1", flag, word)
		case most > 0 && n > most:
			return nil, usagef("--%s %s: there are %d", flag, word, most)
		}
		if !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	if numbers == nil {
		return nil, usagef("--%s: must not be empty", flag)
	}
	return numbers, nil
}
