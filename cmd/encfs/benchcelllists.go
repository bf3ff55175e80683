package main

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"encfs/decrypt"
	"encfs/workqueue"
)

// cellLists are the flags that bench tar and bench simulate have in common: lists of
// queues, ciphers, drivers and CPU features, of which each combination is a cell.
type cellLists struct {
	queues, scopes, ciphers, drivers string

	cells    cellFlags
	pipeline pipelineOptions // what all queues have in common
	flags    *pflag.FlagSet
}

// add adds the flags to a command that does to cells what the verb says, by default to
// those of some ciphers.
func (l *cellLists) add(flags *pflag.FlagSet, verb, ciphers string) {
	l.flags = flags
	flags.StringVar(&l.queues, "queue", "bound,unbound,inline,auto", verb+" the queues in `LIST`")
	flags.StringVar(&l.scopes, "queue-scope", "cache", verb+" unbound and auto queues with the affinity scopes in `LIST`, of cpu, smt, cache, numa, system")
	flags.BoolVar(&l.pipeline.Strict, "queue-strict", false, "never leave the affinity scope")
	flags.IntVar(&l.pipeline.MaxActive, "queue-max-active", 0, "let `N` work items run at a time, in all; 0 is the number of CPUs")
	flags.StringVar(&l.ciphers, "cipher", ciphers, verb+" the ciphers in `LIST`, of "+strings.Join(tarCipherNames(), ", "))
	flags.StringVar(&l.drivers, "driver", "", verb+" the drivers in `LIST`, each with its cipher, rather than the best ones")
	l.cells.add(flags)
}

// parseQueues returns a queue for each kind, and each scope where it has one.
func (l *cellLists) parseQueues() ([]pipelineOptions, error) {
	kinds, err := parseWords("queue", l.queues, "bound", "unbound", "inline", "auto")
	if err != nil {
		return nil, err
	}
	scopes, err := parseWords("queue-scope", l.scopes, "cpu", "smt", "cache", "numa", "system")
	if err != nil {
		return nil, err
	}
	for _, flag := range unusedFlags["inline"] {
		unused := func(kind string) bool { return slices.Contains(unusedFlags[kind], flag) }
		if l.flags.Changed(flag) && !slices.ContainsFunc(kinds, func(kind string) bool { return !unused(kind) }) {
			return nil, usagef("--queue %s and --%s: these queues have none", l.queues, flag)
		}
	}
	var queues []pipelineOptions
	for _, kind := range kinds {
		q := l.pipeline
		q.Queue = kind
		if kind == workqueue.Inline.String() {
			q.Strict, q.MaxActive, q.CPUs = false, 0, ""
		}
		for n, scope := range scopes {
			if n > 0 && slices.Contains(unusedFlags[kind], "queue-scope") {
				break
			}
			q.Scope = scope
			made, err := q.newQueue()
			if err != nil {
				return nil, usageError{err}
			}
			made.Close()
			queues = append(queues, q)
		}
	}
	return queues, nil
}

func (l *cellLists) parseTarCiphers() ([]tarCipher, error) {
	names, err := parseWords("cipher", l.ciphers, tarCipherNames()...)
	if err != nil {
		return nil, err
	}
	var ciphers []tarCipher
	for _, name := range names {
		i := slices.IndexFunc(tarCiphers, func(c tarCipher) bool { return c.name == name })
		ciphers = append(ciphers, tarCiphers[i])
	}
	return ciphers, nil
}

// parseDrivers returns drivers, each of which one of the ciphers has.
func (l *cellLists) parseDrivers(ciphers []tarCipher) ([]decrypt.Driver, error) {
	var drivers []decrypt.Driver
	for _, name := range splitList(l.drivers) {
		if err := checkDriver(name); err != nil {
			return nil, err
		}
		d, err := decrypt.LookupName(name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(ciphers, func(c tarCipher) bool { return c.algorithm() == d.Algorithm }) {
			return nil, usagef("--driver %s: is for %s, which is none of --cipher %s", name, d.Algorithm, l.ciphers)
		}
		drivers = append(drivers, d)
	}
	return drivers, nil
}
