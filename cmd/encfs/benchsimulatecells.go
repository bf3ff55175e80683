package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"encfs/cmd/encfs/internal/bench"
	"encfs/cpufeat"
	"encfs/decrypt"
	"encfs/workqueue"
	"encfs/workqueue/simulate"
)

// simulateFlags are the flags that make the cells of bench simulate.
type simulateFlags struct {
	cellLists
	jobs, cpus         string
	shapes, completion []string
}

func (f *simulateFlags) add(flags *pflag.FlagSet) {
	f.cellLists.add(flags, "simulate", "aes-256-xts,speck128-xts")
	flags.StringVar(&f.cpus, "cpus", "4,8,64,128", "simulate machines with the numbers of CPUs in `LIST`, those up to 16 with one cache, larger ones with 8 CPUs for each, above 64 with two threads a core and two memory nodes")
	flags.StringArrayVar(&f.shapes, "topology", nil, "give the machine with as many CPUs the `SHAPE` of caches and CPUs of each, such as 8x8 or 16x8,smt=2,numa=2; repeated for others; without --cpus only these are simulated")
	flags.StringVar(&f.jobs, "jobs", "", "have so many tars at the same time, a `LIST` of numbers; by default 1 to the number of CPUs, of more than 8 some of them")
	flags.StringArrayVar(&f.completion, "completion-cpus", []string{eachCPU, "0"}, "have ciphertext arrive on the CPUs in `LIST` only: one stands for storage with a single queue; all is the CPU that asks for it; repeated for more cells")
}

// eachCPU in the place of a list of CPUs says that ciphertext arrives where it is asked for.
const eachCPU = "all"

// A simulatePlan is what is to be simulated.
type simulatePlan struct {
	shapes []simulate.Shape
	cells  []bench.SimulatedCell
}

// shapeFor returns the shape of a machine with so many CPUs.
func (p *simulatePlan) shapeFor(cpus int) simulate.Shape {
	for _, s := range p.shapes {
		if s.Caches*s.CPUs == cpus {
			return s
		}
	}
	return flatShape(cpus)
}

// flatShape is the shape of a machine with one cache.
func flatShape(cpus int) simulate.Shape {
	return simulate.Shape{Caches: 1, CPUs: cpus, Threads: 1, Nodes: 1}
}

// defaultShape is the shape of a machine with so many CPUs unless it was given.
func defaultShape(cpus int) simulate.Shape {
	const perCache = 8
	switch {
	case cpus <= 16 || cpus%perCache != 0:
		return flatShape(cpus)
	case cpus <= 64 || cpus%(2*perCache) != 0:
		return simulate.Shape{Caches: cpus / perCache, CPUs: perCache, Threads: 1, Nodes: 1}
	}
	return simulate.Shape{Caches: cpus / perCache, CPUs: perCache, Threads: 2, Nodes: 2}
}

// plan returns all combinations. Its errors are of usage, or say what the CPU cannot do.
func (f *simulateFlags) plan() (*simulatePlan, error) {
	shapes, err := f.parseShapes()
	if err != nil {
		return nil, err
	}
	kinds := f.cells
	if len(kinds.clear) == 0 {
		kinds.clear = []string{"", cpufeat.AES.String()}
		if !cpufeat.Host().Has(cpufeat.AES) {
			kinds.clear = []string{""}
		}
	}
	features, err := kinds.cells()
	if err != nil {
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
	p := &simulatePlan{shapes: shapes}
	for _, shape := range shapes {
		base := machineCell(shape)
		arrivals, err := f.parseCompletion(len(base.Result.CPUs))
		if err != nil {
			return nil, err
		}
		files := bench.ModelTree(len(base.Result.CPUs))
		jobs, err := parseNumbers("jobs", f.jobsFor(len(base.Result.CPUs)), 0)
		if err != nil {
			return nil, err
		}
		if n := slices.Max(jobs); n > len(files) {
			return nil, usagef("--jobs %d: the tree of a machine with %d CPUs has %d files", n, len(base.Result.CPUs), len(files))
		}
		seen := map[string]bool{} // where clearing features changes nothing
		for _, cipher := range ciphers {
			for _, feature := range features {
				for _, name := range driversFor(cipher, drivers) {
					c := base
					c.Result.Cipher, c.Result.Cleared = cipher.name, feature.cleared
					if c.Cell.Driver, err = contentsDriver(cipher, name, feature.have); err != nil {
						return nil, err
					}
					c.Cell.NoAES = clearsAES(feature.have)
					key := cipher.name + " " + c.Cell.Driver
					if c.Cell.NoAES && strings.Contains(cipher.algorithm(), "aes") {
						key += " without AES"
					}
					if seen[key] {
						continue
					}
					seen[key] = true
					c.Result.Driver = c.Cell.Driver
					c.Result.Claim = claim2018(c.Result.TarResult)
					for _, cpus := range arrivals {
						c.Result.CompletionCPUs, c.Cell.Completion = append([]int{}, cpus...), cpus
						if err := p.addJobs(c, files, jobs, queues); err != nil {
							return nil, err
						}
					}
				}
			}
		}
	}
	return p, nil
}

// parseShapes returns the machines.
func (f *simulateFlags) parseShapes() ([]simulate.Shape, error) {
	var given, shapes []simulate.Shape
	for _, text := range f.shapes {
		s, err := simulate.ParseShape(text)
		if err != nil {
			return nil, usagef("--topology: %w", err)
		}
		given = append(given, s)
	}
	if len(given) > 0 && !f.flags.Changed("cpus") {
		return given, nil
	}
	counts, err := parseNumbers("cpus", f.cpus, 0)
	if err != nil {
		return nil, err
	}
	if n := slices.Max(counts); n > maxMeasuredCPUs {
		return nil, usagef("--cpus %d: more than %d", n, maxMeasuredCPUs)
	}
	for _, s := range given {
		if !slices.Contains(counts, s.Caches*s.CPUs) {
			return nil, usagef("--topology %s: has %d CPUs, which --cpus %s has not", s, s.Caches*s.CPUs, f.cpus)
		}
	}
	for _, n := range counts {
		before := len(shapes)
		for _, s := range given {
			if s.Caches*s.CPUs == n {
				shapes = append(shapes, s)
			}
		}
		if len(shapes) == before {
			shapes = append(shapes, defaultShape(n))
		}
	}
	return shapes, nil
}

// machineCell returns what all cells of a machine have in common.
func machineCell(s simulate.Shape) bench.SimulatedCell {
	var c bench.SimulatedCell
	c.Cell.Shape, c.Cell.Mounted = s, true
	c.Result.Topology, c.Result.Simulated, c.Result.Cache = s.String(), true, cacheCold
	for cpu := range s.Caches * s.CPUs {
		c.Result.CPUs = append(c.Result.CPUs, cpu)
	}
	return c
}

// parseCompletion returns the lists of CPUs on which ciphertext arrives, of a machine with
// n; none in a list stands for each.
func (f *simulateFlags) parseCompletion(n int) ([][]int, error) {
	var lists [][]int
	for _, list := range f.completion {
		if list == eachCPU {
			lists = append(lists, nil)
			continue
		}
		cpus, err := workqueue.ParseCPUs(list)
		if err != nil {
			return nil, usagef("--completion-cpus: %w, nor %s", err, eachCPU)
		}
		if last := cpus[len(cpus)-1]; last >= n {
			return nil, usagef("--completion-cpus: CPU %d is not among those of a machine with %d", last, n)
		}
		lists = append(lists, cpus)
	}
	return lists, nil
}

// jobsFor returns the numbers of jobs on a machine.
func (f *simulateFlags) jobsFor(cpus int) string {
	if f.jobs != "" || f.flags.Changed("jobs") {
		return f.jobs
	}
	list := ""
	for n := 1; n < cpus; {
		list += strconv.Itoa(n) + ","
		switch {
		case cpus <= 4:
			n++
		case cpus <= 8:
			n *= 2
		default:
			n *= 4
		}
	}
	return list + strconv.Itoa(cpus)
}

// addJobs adds a cell for each number of jobs and each queue.
func (p *simulatePlan) addJobs(c bench.SimulatedCell, files []bench.TreeFile, jobs []int, queues []pipelineOptions) error {
	c.Result.Bytes = bench.TreeSize(files)
	for _, n := range jobs {
		c.Result.Jobs = n
		c.Cell.Parts = bench.Divide(files, n)
		for _, q := range queues {
			attrs, err := q.attrs()
			if err != nil {
				return err
			}
			c.Cell.Queue = attrs
			c.Result.Queue, c.Result.Scope = q.Queue, ""
			if !slices.Contains(unusedFlags[q.Queue], "queue-scope") {
				c.Result.Scope = q.Scope
			}
			p.cells = append(p.cells, c)
		}
	}
	return nil
}

// claim2018 returns how much faster tars were with an unbound queue when fscrypt in Linux
// went over to one, where a cell is one of those that were timed then, on f2fs.
func claim2018(r bench.TarResult) string {
	cpus := len(r.CPUs)
	switch {
	case cpus != 4 && cpus != 8:
	case r.Cipher == "speck128-xts" && cpus == 4:
		return "about 1.10 (quad-core ARM, Speck128-XTS in NEON code)"
	case r.Cipher == "aes-256-xts" && slices.Contains(r.Cleared, cpufeat.AES.String()):
		return "1.25 to 1.35 (x86, AES instructions off, 1 job to as many as CPUs)"
	case r.Cipher == "aes-256-xts":
		return "0.98 to 1.02 (x86 with AES instructions)"
	}
	return ""
}

// baselinePlan is what is measured to fit service times to: no mount, and mounts without
// encryption.
func baselinePlan(own []int) (*tarPlan, error) {
	f := tarFlags{
		cellLists: cellLists{
			queues: "inline,bound,unbound", scopes: "cache", ciphers: bench.NoCipher,
			flags: pflag.NewFlagSet("", pflag.ContinueOnError),
		},
		caches: cacheCold, jobs: "1," + strconv.Itoa(len(own)),
	}
	f.selfTest.selfTest = newChoice("lazy")
	p, err := f.plan(own)
	if err == nil {
		p.runs = 3
	}
	return p, err
}

// usableDriver returns the driver of a name, if this CPU can run it.
func usableDriver(name string) (decrypt.Driver, error) {
	if err := checkDriver(name); err != nil {
		return decrypt.Driver{}, err
	}
	d, err := decrypt.LookupName(name)
	if have := cpufeat.Host(); err == nil && !have.Has(d.Needs) {
		err = explainDriver(&decrypt.UnusableError{Driver: d, Have: have})
	}
	return d, err
}

// parseSpeeds reads a list of drivers and how many megabytes they decrypt in a second.
func parseSpeeds(list string) (map[string]float64, error) {
	speeds := map[string]float64{}
	for _, word := range splitList(list) {
		name, value, _ := strings.Cut(word, "=")
		if _, err := decrypt.LookupName(name); err != nil {
			return nil, usagef("--speed %s: %q is not a driver; encfs drivers --all lists them", word, name)
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || !(v >= 0.01 && v <= 1e6) {
			return nil, usagef("--speed %s: not a speed from 0.01 to 1000000", word)
		}
		speeds[name] = v
	}
	return speeds, nil
}
