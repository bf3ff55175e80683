package decrypt

import (
	"errors"
	"fmt"
)

// SelfTest says when a Table runs the self-tests of its drivers, in which they
// encrypt and decrypt data whose ciphertext is known.
type SelfTest int

// The modes.
const (
	SelfTestLazy SelfTest = iota // each driver before its first use
	SelfTestFull                 // all when the Table is made
	SelfTestOff                  // never: nothing at all is done for them
)

var selfTestNames = [...]string{SelfTestLazy: "lazy", SelfTestFull: "full", SelfTestOff: "off"}

// String returns "lazy", "full" or "off".
func (m SelfTest) String() string { return selfTestNames[m] }

// ParseSelfTest is the inverse of String.
func ParseSelfTest(name string) (SelfTest, error) {
	for m, n := range selfTestNames {
		if n == name {
			return SelfTest(m), nil
		}
	}
	return 0, fmt.Errorf("decrypt: self-test mode %q; known are lazy, full, off", name)
}

var (
	// ErrSelfTest means that a driver, or a key derivation, gave other data than the
	// known answer. It must not be used.
	ErrSelfTest = errors.New("self-test failed")

	// ErrNoSelfTests means that self-tests were asked for of a program that was
	// built without them, with the build tag noselftest.
	ErrNoSelfTests = errors.New("built without self-tests")
)

// SelfTest has the driver encrypt and decrypt, in place, data whose ciphertext is
// known: with keys of each length that the algorithm takes, in lengths that reach
// the different loops of the drivers. It takes some ten microseconds with a
// driver in assembly; thorough has all lengths up to a few hundred blocks, odd
// addresses and large units, and takes a hundred times as long. The CPU must
// have what the driver needs.
//
// The error is an ErrSelfTest if the driver is not to be used, or an ErrNoSelfTests.
// The kernel does the same in alg_test, crypto/testmgr.c.
func (d Driver) SelfTest(thorough bool) error { return selfTest(d, thorough) }
