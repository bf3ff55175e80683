package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"encfs/keys"
	"encfs/workqueue"
)

// pipelineOptions says on which CPUs and with which drivers data units are
// decrypted.
type pipelineOptions struct {
	Queue     string // bound, unbound, inline or auto
	Scope     string
	Strict    bool
	MaxActive int
	CPUs      string // a list, empty for all
	Drivers   driverOptions
}

// pipelineFlags are the flags that fill in pipelineOptions.
type pipelineFlags struct {
	queue, scope choice
	drivers      driverFlags
	options      pipelineOptions
	flags        *pflag.FlagSet // that they were added to
}

func (p *pipelineFlags) add(flags *pflag.FlagSet) {
	p.flags = flags
	p.queue = newChoice("auto", "bound", "unbound", "inline")
	p.scope = newChoice("cache", "cpu", "smt", "numa", "system")
	o := &p.options
	p.queue.add(flags, "queue", "where data units are decrypted: on the CPU that read them (bound), on any of the affinity scope (unbound), in the request itself (inline), or there with the help of idle CPUs where the cipher is slow and the request large (auto)")
	p.scope.add(flags, "queue-scope", "affinity scope of the unbound and auto queues")
	flags.BoolVar(&o.Strict, "queue-strict", false, "never leave the affinity scope")
	flags.IntVar(&o.MaxActive, "queue-max-active", 0, "let `N` work items run at a time, in all; 0 is the number of CPUs")
	flags.StringVar(&o.CPUs, "queue-cpus", "", "CPUs that workers may use, a `LIST` such as 0-3,6")
	p.drivers.add(flags)
}

// parse returns the options after a check of those that can be checked without
// a mount. Its errors are of usage.
func (p *pipelineFlags) parse() (pipelineOptions, error) {
	o := p.options
	o.Queue, o.Scope = p.queue.value, p.scope.value
	for _, flag := range unusedFlags[o.Queue] {
		if p.flags.Changed(flag) {
			return o, usagef("--queue %s and --%s: that queue has none", o.Queue, flag)
		}
	}
	var err error
	if o.Drivers, err = p.drivers.parse(); err != nil {
		return o, err
	}
	q, err := o.newQueue()
	if err != nil {
		return o, usageError{err}
	}
	q.Close()
	return o, nil
}

// unusedFlags are those that mean nothing to a kind of queue.
var unusedFlags = map[string][]string{
	"bound":  {"queue-scope", "queue-strict"},
	"inline": {"queue-scope", "queue-strict", "queue-max-active", "queue-cpus"},
}

// checkPolicy checks that there are drivers for what the policy says, and that they
// work. Warnings are left to the process that uses them.
func (o pipelineOptions) checkPolicy(p keys.Policy) error {
	_, err := o.Drivers.forPolicy(p, nil)
	return err
}

// queueName is the name of the queue in messages.
const queueName = "encfs"

// newQueue returns the queue asked for. The caller closes it.
func (o pipelineOptions) newQueue() (*workqueue.Queue, error) {
	attrs, err := o.attrs()
	if err != nil {
		return nil, err
	}
	return workqueue.New(attrs)
}

// attrs returns the attributes of the queue asked for.
func (o pipelineOptions) attrs() (workqueue.Attrs, error) {
	kind, err := workqueue.ParseKind(o.Queue)
	if err != nil {
		return workqueue.Attrs{}, err
	}
	scope, err := workqueue.ParseScope(o.Scope)
	if err != nil {
		return workqueue.Attrs{}, err
	}
	attrs := workqueue.Attrs{Name: queueName, Kind: kind, Scope: scope, Strict: o.Strict, MaxActive: o.MaxActive}
	if o.CPUs != "" {
		if attrs.CPUs, err = workqueue.ParseCPUs(o.CPUs); err != nil {
			return attrs, fmt.Errorf("--queue-cpus: %w", err)
		}
	}
	return attrs, nil
}
