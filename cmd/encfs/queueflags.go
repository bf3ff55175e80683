package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"encfs/cpufeat"
	"encfs/decrypt"
	"encfs/keys"
	"encfs/workqueue"
)

// pipelineOptions says on which CPUs and with which driver data units are
// decrypted.
type pipelineOptions struct {
	Queue     string // bound, unbound, inline or auto
	Scope     string
	Strict    bool
	MaxActive int
	CPUs      string // a list, empty for all
	Driver    string // empty for the best
	ClearCPU  string // features that the CPU is taken not to have
}

// pipelineFlags are the flags that fill in pipelineOptions.
type pipelineFlags struct {
	queue, scope choice
	options      pipelineOptions
}

func (p *pipelineFlags) add(flags *pflag.FlagSet) {
	p.queue = newChoice("auto", "bound", "unbound", "inline")
	p.scope = newChoice("cache", "cpu", "smt", "numa", "system")
	o := &p.options
	p.queue.add(flags, "queue", "where data units are decrypted: on the CPU that read them (bound), on any of the affinity scope (unbound), in the request itself (inline), or there with the help of idle CPUs where the cipher is slow and the request large (auto)")
	p.scope.add(flags, "queue-scope", "affinity scope of the unbound and auto queues")
	flags.BoolVar(&o.Strict, "queue-strict", false, "never leave the affinity scope")
	flags.IntVar(&o.MaxActive, "queue-max-active", 0, "let `N` work items run at a time, in all; 0 is the number of CPUs")
	flags.StringVar(&o.CPUs, "queue-cpus", "", "CPUs that workers may use, a `LIST` such as 0-3,6")
	flags.StringVar(&o.Driver, "driver", "", "decrypt contents with the driver `NAME` rather than the best one")
	flags.StringVar(&o.ClearCPU, "clear-cpu", "", "do without the CPU features in `LIST`, such as aes,avx2")
}

// parse returns the options after a check of those that can be checked without
// a mount. Its errors are of usage.
func (p *pipelineFlags) parse() (pipelineOptions, error) {
	o := p.options
	o.Queue, o.Scope = p.queue.value, p.scope.value
	if _, err := o.features(); err != nil {
		return o, usagef("--clear-cpu: %w", err)
	}
	if o.Driver != "" {
		if err := checkDriver(o.Driver); err != nil {
			return o, err
		}
	}
	q, err := o.newQueue()
	if err != nil {
		return o, usageError{err}
	}
	q.Close()
	return o, nil
}

// checkPolicy checks that the driver that was asked for decrypts what the policy says
// and runs on the CPU. Its errors are of usage.
func (o pipelineOptions) checkPolicy(p keys.Policy) error {
	if o.Driver == "" {
		return nil
	}
	d, err := decrypt.LookupName(o.Driver)
	if err != nil {
		return usageError{err}
	}
	have, err := o.features()
	switch {
	case err != nil:
		return usageError{err}
	case d.Algorithm != p.Contents.Algorithm():
		return usagef("--driver %s: is for %s, and the contents are encrypted with %s", d.Name, d.Algorithm, p.Contents.Algorithm())
	case !have.Has(d.Needs):
		return usagef("--driver %s: needs %s, of which the CPU lacks %s", d.Name, d.Needs, d.Needs&^have)
	}
	return nil
}

// features returns those of this CPU that drivers may use.
func (o pipelineOptions) features() (cpufeat.Set, error) {
	clear, err := cpufeat.Parse(o.ClearCPU)
	return cpufeat.Host().Clear(clear), err
}

// newQueue returns the queue asked for. The caller closes it.
func (o pipelineOptions) newQueue() (*workqueue.Queue, error) {
	kind, err := workqueue.ParseKind(o.Queue)
	if err != nil {
		return nil, err
	}
	scope, err := workqueue.ParseScope(o.Scope)
	if err != nil {
		return nil, err
	}
	attrs := workqueue.Attrs{Name: "encfs", Kind: kind, Scope: scope, Strict: o.Strict, MaxActive: o.MaxActive}
	if o.CPUs != "" {
		if attrs.CPUs, err = workqueue.ParseCPUs(o.CPUs); err != nil {
			return nil, fmt.Errorf("--queue-cpus: %w", err)
		}
	}
	return workqueue.New(attrs)
}

// checkDriver checks that there is a driver of this name.
func checkDriver(name string) error {
	if _, err := decrypt.LookupName(name); err != nil {
		var known []string
		for _, d := range decrypt.Drivers() {
			known = append(known, d.Name)
		}
		return usagef("--driver %s: unknown driver; known are %s", name, strings.Join(known, ", "))
	}
	return nil
}
