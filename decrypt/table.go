package decrypt

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"encfs/cpufeat"
	"encfs/keys"
)

// A Table holds the drivers that a program chooses from, on a CPU with certain
// features, and what their self-tests said. A driver that has failed is never
// returned again. A Table is safe for concurrent use.
type Table struct {
	have cpufeat.Set
	mode SelfTest
	log  *slog.Logger

	rows   []*tableRow // those to prefer first
	chosen *tableRow   // by Choose; nil: none
	kdfs   []*kdfRow
}

// A tableRow is a driver in a Table.
type tableRow struct {
	Driver
	priority int  // on this CPU
	usable   bool // the CPU has what it needs
	check
}

// A kdfRow is a key derivation in a Table.
type kdfRow struct {
	keys.KnownAnswerTest
	check
}

// A check is a self-test that is run at most once.
type check struct {
	once    sync.Once
	outcome atomic.Pointer[outcome] // nil: not run yet
}

type outcome struct {
	err  error
	took time.Duration
}

// run runs the test if that has not been done, and returns its error.
func (c *check) run(test func() error) error {
	c.once.Do(func() {
		start := time.Now()
		err := test()
		c.outcome.Store(&outcome{err, time.Since(start)})
	})
	return c.outcome.Load().err
}

// failed reports whether the test has been run and failed.
func (c *check) failed() bool {
	o := c.outcome.Load()
	return o != nil && o.err != nil
}

// NewTable returns a Table of this machine's drivers for a CPU with the features in
// have. Drivers that fail their self-test are reported to log as warnings; nil is
// nowhere.
//
// With SelfTestFull it runs all self-tests, and the error is an ErrSelfTest if that
// leaves an algorithm without a driver or if a key derivation fails. A program built
// without self-tests gives an ErrNoSelfTests then, and takes SelfTestLazy for
// SelfTestOff.
func NewTable(have cpufeat.Set, mode SelfTest, log *slog.Logger) (*Table, error) {
	return newTable(Drivers(), keys.KnownAnswerTests(), have, mode, log)
}

// newTable is NewTable for other drivers and key derivations than the machine's, which
// tests have.
func newTable(drivers []Driver, kdfs []keys.KnownAnswerTest, have cpufeat.Set, mode SelfTest, log *slog.Logger) (*Table, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if !haveSelfTests {
		if mode == SelfTestFull {
			return nil, fmt.Errorf("decrypt: self-tests %v: %w", mode, ErrNoSelfTests)
		}
		mode = SelfTestOff
	}
	t := &Table{have: have, mode: mode, log: log}
	for _, d := range drivers {
		t.rows = append(t.rows, &tableRow{Driver: d, priority: d.PriorityOn(have), usable: have.Has(d.Needs)})
	}
	slices.SortStableFunc(t.rows, func(a, b *tableRow) int { return cmp.Compare(b.priority, a.priority) })
	for _, k := range kdfs {
		t.kdfs = append(t.kdfs, &kdfRow{KnownAnswerTest: k})
	}
	if mode == SelfTestFull {
		if err := t.testAll(); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// testAll runs all self-tests of drivers that the CPU can run, and of the key
// derivations.
func (t *Table) testAll() error {
	var errs []error
	for _, r := range t.rows {
		if r.usable {
			t.test(r)
		}
	}
	for _, r := range t.rows {
		// Once for each algorithm, of which this is some driver.
		if i := slices.IndexFunc(t.rows, func(o *tableRow) bool { return o.Algorithm == r.Algorithm }); t.rows[i] == r {
			if _, err := t.Lookup(r.Algorithm); errors.Is(err, ErrSelfTest) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(append(errs, t.TestKDFs())...)
}

// test runs the self-test of a driver if the mode asks for it and that has not been
// done, and returns its error.
func (t *Table) test(r *tableRow) error {
	if t.mode == SelfTestOff {
		return nil
	}
	return r.run(func() error {
		err := r.SelfTest(false)
		if err != nil {
			t.log.Warn("driver will not be used", "driver", r.Name, "algorithm", r.Algorithm, "error", err)
		}
		return err
	})
}

// Features returns the features of the CPU that the Table was made for.
func (t *Table) Features() cpufeat.Set { return t.have }

// SelfTests returns the mode that the Table follows.
func (t *Table) SelfTests() SelfTest { return t.mode }

// Choose has Lookup return the driver with this name for its algorithm, whatever
// others there are. Its errors are those of LookupName. It must not be called
// beside other methods.
func (t *Table) Choose(name string) error {
	if _, err := t.LookupName(name); err != nil {
		return err
	}
	t.chosen = t.row(name)
	return nil
}

// Lookup returns the driver for the algorithm that has the highest priority among
// those that the CPU can run and that pass their self-tests, or the one that was
// chosen. If there is none, the error is an ErrNoDriver, or an ErrSelfTest if there
// would be one without self-tests.
//
// In a Table without self-tests it takes no lock and allocates nothing.
func (t *Table) Lookup(algorithm string) (Driver, error) {
	if c := t.chosen; c != nil && c.Algorithm == algorithm {
		return c.Driver, nil
	}
	var failed error
	for _, r := range t.rows {
		if r.Algorithm != algorithm || !r.usable {
			continue
		}
		if err := t.test(r); err != nil {
			failed = err
			continue
		}
		return r.Driver, nil
	}
	if failed != nil {
		return Driver{}, fmt.Errorf("decrypt: no driver is left for %s: %w", algorithm, failed)
	}
	return Driver{}, fmt.Errorf("decrypt: algorithm %q: %w", algorithm, ErrNoDriver)
}

// LookupName returns the driver with the given name. If it is not known the error is
// an ErrNoDriver, if the CPU lacks a feature an *UnusableError, and if it does not
// pass its self-test an ErrSelfTest.
func (t *Table) LookupName(name string) (Driver, error) {
	r := t.row(name)
	if r == nil {
		return Driver{}, fmt.Errorf("decrypt: driver %q: %w", name, ErrNoDriver)
	}
	if !r.usable {
		return Driver{}, &UnusableError{r.Driver, t.have}
	}
	if err := t.test(r); err != nil {
		return Driver{}, err
	}
	return r.Driver, nil
}

// row returns the row of a driver, nil if there is none.
func (t *Table) row(name string) *tableRow {
	for _, r := range t.rows {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// TestKDFs runs the self-tests of the key derivations of package keys, if the mode
// asks for it and that has not been done. A program calls it before it derives
// keys. All are tested then, as they take a few microseconds together. If one
// fails the error is an ErrSelfTest: nothing can take its place.
func (t *Table) TestKDFs() error {
	if t.mode == SelfTestOff {
		return nil
	}
	for _, k := range t.kdfs {
		if err := k.run(k.Run); err != nil {
			return fmt.Errorf("decrypt: %w: %w", ErrSelfTest, err)
		}
	}
	return nil
}

// An UnusableError means that the CPU lacks features that a driver needs.
type UnusableError struct {
	Driver Driver
	Have   cpufeat.Set // what the CPU has
}

// Error names the features that are missing.
func (e *UnusableError) Error() string {
	return fmt.Sprintf("driver %s needs %v, of which the CPU lacks %v", e.Driver.Name, e.Driver.Needs, e.Driver.Needs&^e.Have)
}

// A TestState is what is known about a driver from its self-test.
type TestState int

// The states.
const (
	NotRun  TestState = iota
	Passed            //
	Failed            // Lookup does not return the driver
	TestOff           // the Table runs no self-tests
)

// String returns "not run", "passed", "failed" or "off".
func (s TestState) String() string {
	return [...]string{NotRun: "not run", Passed: "passed", Failed: "failed", TestOff: "off"}[s]
}

// A Result is what a Table has about a driver.
type Result struct {
	Driver   Driver
	Priority int  // on this CPU; see Driver.PriorityOn
	Usable   bool // the CPU has what it needs
	Selected bool // Lookup returns it, as far as self-tests have been run
	State    TestState
	Err      error         // why it failed
	Took     time.Duration // what the self-test took, if it was run
}

// Results returns a Result for each driver, those of an algorithm together and the
// preferred ones first. It runs no self-test.
func (t *Table) Results() []Result {
	var results []Result
	for _, a := range algorithms {
		selected := false
		for _, r := range t.rows {
			if r.Algorithm != a.Name {
				continue
			}
			res := Result{Driver: r.Driver, Priority: r.priority, Usable: r.usable}
			if t.mode == SelfTestOff {
				res.State = TestOff
			}
			if o := r.outcome.Load(); o != nil {
				res.State, res.Err, res.Took = Passed, o.err, o.took
				if o.err != nil {
					res.State = Failed
				}
			}
			if c := t.chosen; c != nil && c.Algorithm == a.Name {
				res.Selected = r == c
			} else {
				res.Selected = !selected && r.usable && !r.failed()
			}
			selected = selected || res.Selected
			results = append(results, res)
		}
	}
	return results
}
