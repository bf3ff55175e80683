//go:build noselftest

package decrypt

import (
	"errors"
	"testing"

	"encfs/cpufeat"
	"encfs/keys"
)

// A program built without self-tests has drivers all the same, and says so when
// asked for a test.
func TestNoSelfTests(t *testing.T) {
	for _, mode := range []SelfTest{SelfTestLazy, SelfTestOff} {
		table, err := NewTable(cpufeat.Host(), mode, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := table.SelfTests(); got != SelfTestOff {
			t.Errorf("mode %v, want off", got)
		}
		for _, a := range Algorithms() {
			if _, err := table.Lookup(a.Name); err != nil {
				t.Error(err)
			}
		}
		if err := table.TestKDFs(); err != nil {
			t.Error(err)
		}
	}
	if _, err := NewTable(cpufeat.Host(), SelfTestFull, nil); !errors.Is(err, ErrNoSelfTests) {
		t.Errorf("full: %v, want ErrNoSelfTests", err)
	}
	for _, d := range runnableDrivers() {
		if err := d.SelfTest(false); !errors.Is(err, ErrNoSelfTests) {
			t.Errorf("%s: %v, want ErrNoSelfTests", d.Name, err)
		}
	}
	if kdfs := keys.KnownAnswerTests(); len(kdfs) != 0 {
		t.Errorf("%d tests of key derivations are there", len(kdfs))
	}
}
