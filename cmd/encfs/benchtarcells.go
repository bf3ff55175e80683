package main

import (
	"cmp"
	"slices"

	"encfs/cmd/encfs/internal/bench"
	"encfs/decrypt"
	"encfs/keys"
	"encfs/workqueue"
)

// A tarCipher is a cipher of contents that bench tar measures, with the policy that
// its trees have.
type tarCipher struct {
	name                string
	contents, filenames keys.Mode
	instead             string // algorithm in place of that of contents; empty for that
}

// tarCiphers are those of policies, one that Linux withdrew, and none. Names are
// those of an ordinary policy.
var tarCiphers = []tarCipher{
	{"aes-256-xts", keys.AES256XTS, keys.AES256CTS, ""},
	{"adiantum", keys.Adiantum, keys.Adiantum, ""},
	{"aes-128-cbc-essiv", keys.AES128CBCESSIV, keys.AES128CTS, ""},
	{"sm4-xts", keys.SM4XTS, keys.SM4CTS, ""},
	{"speck128-xts", keys.AES256XTS, keys.AES256CTS, "xts(speck128)"},
	{bench.NoCipher, keys.AES256XTS, keys.AES256CTS, decrypt.NullDriver().Algorithm},
}

// What the kernel has cached of a mount.
const (
	cacheCold = "cold" // nothing
	cacheWarm = "warm" // all that was read
)

// algorithm returns that of the contents' drivers.
func (c tarCipher) algorithm() string { return cmp.Or(c.instead, c.contents.Algorithm()) }

// A tarSetup is what tars read through: a mount, or nothing. With a cold and a warm
// cache it makes one or two cells.
type tarSetup struct {
	group    int       // the same for setups that differ in the queue only
	cipher   tarCipher // the zero value: there is no mount
	pipeline pipelineOptions
	scope    string // empty where the queue has none
	driver   string // that contents are decrypted with
	cleared  []string
	jobs     int
	cpus     []int

	completion []int
}

// mounted reports whether there is a mount.
func (s *tarSetup) mounted() bool { return s.cipher.name != "" }

func tarCipherNames() []string {
	var names []string
	for _, c := range tarCiphers {
		names = append(names, c.name)
	}
	return names
}

// A tarPlan is what is to be measured, each setup in every run with all caches.
type tarPlan struct {
	setups []tarSetup
	caches []string // cacheCold before cacheWarm
	runs   int
}

// addQueues adds a setup with each of the queues.
func (p *tarPlan) addQueues(s tarSetup, queues []pipelineOptions) {
	for _, q := range queues {
		q.Drivers = s.pipeline.Drivers
		s.pipeline, s.scope = q, q.Scope
		if slices.Contains(unusedFlags[q.Queue], "queue-scope") {
			s.scope = ""
		}
		p.setups = append(p.setups, s)
	}
}

// addBaselines adds the lower tree, and a mount without encryption unless that is among
// the other cells.
func (p *tarPlan) addBaselines(s tarSetup, selfTest string, ciphers []tarCipher, queues []pipelineOptions) {
	lower := s
	lower.completion = []int{}
	p.setups = append(p.setups, lower)
	isNull := func(c tarCipher) bool { return c.name == bench.NoCipher }
	isInline := func(q pipelineOptions) bool { return q.Queue == workqueue.Inline.String() }
	if slices.ContainsFunc(ciphers, isNull) && slices.ContainsFunc(queues, isInline) {
		return
	}
	s.cipher = tarCiphers[slices.IndexFunc(tarCiphers, isNull)]
	s.pipeline = pipelineOptions{Queue: workqueue.Inline.String(), Scope: workqueue.ScopeCache.String(), Drivers: driverOptions{SelfTest: selfTest}}
	p.setups = append(p.setups, s)
}

// order returns the setups in the order of a run. Those of a group, which are to be
// compared, follow each other, and take turns in being the first, so that what changes on
// the machine meanwhile changes all alike.
func (p *tarPlan) order(run int) []*tarSetup {
	var order []*tarSetup
	for from := 0; from < len(p.setups); {
		to := from + 1
		for to < len(p.setups) && p.setups[to].group == p.setups[from].group {
			to++
		}
		for k := range to - from {
			order = append(order, &p.setups[from+(k+run)%(to-from)])
		}
		from = to
	}
	return order
}

// cachesOf returns with which caches a setup is measured: the lower tree's, which is not
// of a mount, is always warm.
func (p *tarPlan) cachesOf(s *tarSetup) []string {
	if !s.mounted() {
		return []string{cacheWarm}
	}
	return p.caches
}

// cells returns how many cells there are.
func (p *tarPlan) cells() int {
	n := 0
	for i := range p.setups {
		n += len(p.cachesOf(&p.setups[i]))
	}
	return n
}

// maxJobs returns the largest number of tars at the same time.
func (p *tarPlan) maxJobs() int {
	return slices.MaxFunc(p.setups, func(a, b tarSetup) int { return cmp.Compare(a.jobs, b.jobs) }).jobs
}

// ciphers returns the ciphers that mounts have, each once.
func (p *tarPlan) ciphers() []tarCipher {
	var ciphers []tarCipher
	for _, s := range p.setups {
		if s.mounted() && !slices.Contains(ciphers, s.cipher) {
			ciphers = append(ciphers, s.cipher)
		}
	}
	return ciphers
}
