package main

import (
	"time"

	"github.com/spf13/pflag"

	"encfs/keys/metadata"
)

// hashingTime is how long it takes to hash a passphrase unless flags say
// otherwise, on the machine that sets it.
const hashingTime = time.Second

// costFlags are the flags for the costs of hashing a passphrase; 0 is not given.
type costFlags struct {
	time, parallelism positive
	memory            kibibytes
}

func (f *costFlags) add(flags *pflag.FlagSet, otherwise string) {
	flags.Var(&f.time, "argon2-time", "hash the passphrase (Argon2id) in `N` passes, "+otherwise)
	flags.Var(&f.memory, "argon2-memory", "hash with this much memory, in KiB or with KiB, MiB or GiB behind, "+otherwise)
	flags.Var(&f.parallelism, "argon2-parallelism", "hash in `N` lanes, "+otherwise)
}

// over returns costs with those that were given in their place. Its errors are of
// usage.
func (f *costFlags) over(base metadata.Costs) (metadata.Costs, error) {
	if f.time != 0 {
		base.Time = int64(f.time)
	}
	if f.memory != 0 {
		base.Memory = int64(f.memory)
	}
	if f.parallelism != 0 {
		base.Parallelism = int64(f.parallelism)
	}
	if err := base.Check(); err != nil {
		return base, usagef("--argon2-*: %w", err)
	}
	return base, nil
}

// given reports whether there is any.
func (f *costFlags) given() bool { return f.time != 0 || f.memory != 0 || f.parallelism != 0 }

// complete reports whether no cost is left to measure.
func (f *costFlags) complete() bool { return f.time != 0 && f.memory != 0 && f.parallelism != 0 }

// measured returns the costs that were given, and for the others what takes about
// hashingTime on this machine.
func (f *costFlags) measured() (metadata.Costs, error) {
	var base metadata.Costs
	if !f.complete() {
		var err error
		if base, err = metadata.CalibrateCosts(hashingTime); err != nil {
			return base, err
		}
	}
	return f.over(base)
}
