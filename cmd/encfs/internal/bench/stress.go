package bench

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"hash"
	"runtime"
	"sync"
	"time"

	"encfs/decrypt"
	"encfs/keys"
)

// StressOptions says how Stress works.
type StressOptions struct {
	Duration time.Duration
	Workers  int      // goroutines that work at the same time, at least 1
	Cleared  []string // CPU features that were cleared, for the result
}

// A StressResult is the rate of operations. It is also the form that JSON has.
//
// Rates are sums over the workers of operations in a second of their CPU time, so that
// what else the machine does counts little. If there are more workers than CPUs, they
// are those of as many workers.
type StressResult struct {
	OpsPerS     float64            `json:"ops_per_s"`    // of all algorithms, each of which had as many
	ByAlgorithm map[string]float64 `json:"by_algorithm"` // in the time that was spent on each

	Drivers map[string]string `json:"drivers"` // of the ciphers, by algorithm
	Seconds float64           `json:"seconds"` // that it took, by the clock on the wall
	Workers int               `json:"workers"`
	Cleared []string          `json:"cleared"`

	Order []string `json:"order"` // the algorithms as they were worked through
}

// stressSize is the size in bytes of what an operation works on, that of stress-ng's
// af-alg.
const stressSize = 1024

// stressBatch is how many operations of an algorithm come one after the other, so that
// looking at the clock, which is a system call, does not count.
const stressBatch = 32

// A stressor is an operation of an algorithm, bound to memory of its own.
type stressor struct {
	algorithm string
	do        func()
}

// Stress has workers do operations of every algorithm round and round: of each cipher
// of the table, with the driver that the table selects, of hashes, and of key
// derivations. An operation encrypts, decrypts or hashes 1024 bytes, or derives a
// key. It is what stress-ng does with the kernel's algorithms under --af-alg.
//
// Hashes, and AES in portable drivers, are those of Go, which detects CPU features by
// itself: a table for fewer features does not slow them. A process without the CPU's AES
// instructions has to be started so.
func Stress(table *decrypt.Table, o StressOptions) (StressResult, error) {
	r := StressResult{
		ByAlgorithm: map[string]float64{}, Drivers: map[string]string{}, Workers: o.Workers, Cleared: o.Cleared,
	}
	sets := make([][]stressor, o.Workers)
	for i := range sets {
		set, release, err := newStressors(table, r.Drivers)
		if err != nil {
			return r, err
		}
		defer release()
		sets[i] = set
	}
	counts := make([]stressCounts, o.Workers)
	var wg sync.WaitGroup
	start := time.Now()
	for i, set := range sets {
		wg.Go(func() { counts[i] = runStressors(set, start.Add(o.Duration)) })
	}
	wg.Wait()
	r.Seconds = time.Since(start).Seconds()
	cpus := float64(min(o.Workers, runtime.GOMAXPROCS(0)))
	for i, set := range sets {
		ops := float64(counts[i].rounds) * stressBatch * cpus / float64(o.Workers)
		total := 0.0
		for j, s := range set {
			seconds := counts[i].spent[j].Seconds()
			total += seconds
			r.ByAlgorithm[s.algorithm] += ops / seconds
			if i == 0 {
				r.Order = append(r.Order, s.algorithm)
			}
		}
		r.OpsPerS += ops * float64(len(set)) / total
	}
	return r, nil
}

// stressCounts is what a worker has done.
type stressCounts struct {
	rounds int
	spent  []time.Duration // CPU time, on each stressor
}

// runStressors does rounds until the end, at least one.
func runStressors(set []stressor, end time.Time) stressCounts {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := stressCounts{spent: make([]time.Duration, len(set))}
	now := threadTime()
	for c.rounds == 0 || time.Now().Before(end) {
		for i, s := range set {
			for range stressBatch {
				s.do()
			}
			before := now
			now = threadTime()
			c.spent[i] += now - before
		}
		c.rounds++
	}
	return c
}

// newStressors returns an operation of each algorithm, and a function that gives back
// what they hold. It notes the drivers that it takes.
func newStressors(table *decrypt.Table, drivers map[string]string) (set []stressor, release func(), err error) {
	for _, a := range decrypt.Algorithms() {
		d, err := table.Lookup(a.Name)
		if err != nil {
			return nil, nil, err
		}
		drivers[a.Name] = d.Name
		c, err := d.New(make([]byte, a.KeySizes[len(a.KeySizes)-1]))
		if err != nil {
			return nil, nil, err
		}
		buf, iv := make([]byte, stressSize), make([]byte, a.IVSize)
		encrypt := false
		set = append(set, stressor{a.Name, func() {
			if encrypt = !encrypt; encrypt {
				c.Encrypt(buf, buf, iv)
			} else {
				c.Decrypt(buf, buf, iv)
			}
		}})
	}
	for _, h := range []struct {
		name string
		hash hash.Hash
	}{
		{"sha256", sha256.New()},
		{"sha512", sha512.New()},
		{"hmac(sha256)", hmac.New(sha256.New, make([]byte, sha256.Size))},
		{"hmac(sha512)", hmac.New(sha512.New, make([]byte, sha512.Size))},
	} {
		buf, sum := make([]byte, stressSize), make([]byte, 0, sha512.Size)
		set = append(set, stressor{h.name, func() {
			h.hash.Reset()
			h.hash.Write(buf)
			h.hash.Sum(sum)
		}})
	}
	kdfs, release, err := newKDFStressors()
	return append(set, kdfs...), release, err
}

// newKDFStressors returns an operation of each key derivation.
func newKDFStressors() (set []stressor, release func(), err error) {
	raw := make([]byte, keys.MaxMasterKeySize)
	for i := range raw {
		raw[i] = byte(i)
	}
	mk, err := keys.NewMasterKey(raw)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			mk.Close()
		}
	}()
	modes := keys.Policy{Contents: keys.AES256XTS, Filenames: keys.AES256CTS}
	for _, k := range []struct {
		name    string
		version uint8
		flags   keys.Flags
	}{
		{"hkdf(hmac(sha512))", 2, 0},
		{"ecb(aes) of policy version 1", 1, 0},
		{"siphash-2-4 and hkdf(hmac(sha512))", 2, keys.FlagIVInoLblk32},
	} {
		ctx := keys.Context{Policy: modes}
		ctx.Version, ctx.Flags = k.version, k.flags
		derive := func() error {
			f, err := mk.FileKey(ctx, ctx.Contents, keys.Place{Ino: 12})
			if err == nil {
				f.Wipe()
			}
			return err
		}
		if err := derive(); err != nil {
			return nil, nil, err
		}
		set = append(set, stressor{k.name, func() { derive() }})
	}
	return set, mk.Close, nil
}
