package decrypt

import (
	"errors"
	"fmt"
	"slices"

	"encfs/cpufeat"
)

// A Driver is an implementation of an algorithm, like an entry of /proc/crypto.
type Driver struct {
	Algorithm string      // as the Linux crypto API names it, such as "xts(aes)"
	Name      string      // unique, such as "xts-aes-generic"
	Priority  int         // the higher, the better, but see PriorityOn; 100 for the portable drivers
	Needs     cpufeat.Set // features without which New must not be called

	// New returns a Cipher for a key of a length that the algorithm takes; the
	// error for others is an ErrKeySize. It keeps no reference to key. It is safe
	// for concurrent use.
	New func(key []byte) (Cipher, error)
}

// PriorityOn returns the driver's priority on a CPU with the features have, which is
// Priority unless the driver uses ZMM registers and cpufeat.PreferYMM advises
// against them: then it is 1, so that every other driver goes before it. The
// kernel does the same: register_avx_algs in arch/x86/crypto/aesni-intel_glue.c.
func (d Driver) PriorityOn(have cpufeat.Set) int {
	if d.Needs.Has(cpufeat.AVX512F) && have.Has(cpufeat.PreferYMM) {
		return 1
	}
	return d.Priority
}

// ErrNoDriver means that there is no driver for an algorithm, or of a name.
var ErrNoDriver = errors.New("no such driver")

// genericDrivers are the portable drivers, which all machines have.
var genericDrivers = []Driver{
	{"xts(aes)", "xts-aes-generic", 100, 0, newXTSGeneric},
	{"essiv(cbc(aes),sha256)", "essiv-cbc-aes-sha256-generic", 100, 0, newESSIVGeneric},
	{"cts(cbc(aes))", "cts-cbc-aes-generic", 100, 0, newCTSGeneric},
	{"hctr2(aes)", "hctr2-generic", 100, 0, newHCTR2Generic},
	{"adiantum(xchacha12,aes)", "adiantum-generic", 100, 0, newAdiantumGeneric},
	{"xts(sm4)", "xts-sm4-gmsm", 100, 0, newXTSSM4},
	{"cts(cbc(sm4))", "cts-cbc-sm4-gmsm", 100, 0, newCTSSM4},
	{"xts(speck128)", "xts-speck128-generic", 100, 0, newXTSSpeck},
	{"cts(cbc(speck128))", "cts-cbc-speck128-generic", 100, 0, newCTSSpeck},
}

// Drivers returns the drivers of this machine's architecture, those that this CPU
// cannot run included: those in assembly first, then the portable ones. The
// caller may change the slice.
func Drivers() []Driver { return slices.Concat(assemblyDrivers, genericDrivers) }

// Lookup returns the driver of highest priority for the algorithm among those that
// need no feature outside have. The error, if there is none, is an ErrNoDriver.
func Lookup(algorithm string, have cpufeat.Set) (Driver, error) {
	var best Driver
	for _, d := range Drivers() {
		if d.Algorithm == algorithm && have.Has(d.Needs) && d.PriorityOn(have) > best.PriorityOn(have) {
			best = d
		}
	}
	if best.New == nil {
		return Driver{}, fmt.Errorf("decrypt: algorithm %q: %w", algorithm, ErrNoDriver)
	}
	return best, nil
}

// LookupName returns the driver with the given name. Whether the CPU can run it
// is the caller's to check, with Needs. The error, if there is none, is an
// ErrNoDriver.
func LookupName(name string) (Driver, error) {
	for _, d := range Drivers() {
		if d.Name == name {
			return d, nil
		}
	}
	return Driver{}, fmt.Errorf("decrypt: driver %q: %w", name, ErrNoDriver)
}
