package decrypt

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"encfs/cpufeat"
)

// forEachDriver runs f as a subtest for each driver of the algorithm, or for each
// one at all if algorithm is "". A driver that the CPU cannot run is skipped; it
// fails instead if ENCFS_REQUIRE_DRIVERS, a list of names separated by commas,
// contains it. TestRequiredDrivers sees to it that the list names drivers.
func forEachDriver(t *testing.T, algorithm string, f func(t *testing.T, d Driver)) {
	t.Helper()
	required := requiredDrivers()
	found := false
	for _, d := range Drivers() {
		if algorithm != "" && d.Algorithm != algorithm {
			continue
		}
		found = true
		t.Run(d.Name, func(t *testing.T) {
			if !cpufeat.Host().Has(d.Needs) {
				message := "this CPU cannot run " + d.Name + ", which needs " + d.Needs.String()
				if slices.Contains(required, d.Name) {
					t.Fatal(message)
				}
				t.Skip(message)
			}
			f(t, d)
		})
	}
	if !found {
		t.Errorf("no driver of %q", algorithm)
	}
}

// runnableDrivers are those that this CPU can run.
func runnableDrivers() []Driver {
	return slices.DeleteFunc(Drivers(), func(d Driver) bool { return !cpufeat.Host().Has(d.Needs) })
}

func newTestCipher(t testing.TB, d Driver, key []byte) Cipher {
	t.Helper()
	c, err := d.New(key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// mustLookupGeneric returns the portable driver of an algorithm.
func mustLookupGeneric(t testing.TB, algorithm string) Driver {
	t.Helper()
	d, err := Lookup(algorithm, 0)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func mustLookupName(t testing.TB, name string) Driver {
	t.Helper()
	d, err := LookupName(name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDrivers(t *testing.T) {
	names := map[string]bool{}
	priorities := map[string][]int{}
	for _, d := range Drivers() {
		if d.Algorithm == "" || d.Name == "" || d.Priority <= 0 || d.New == nil {
			t.Errorf("incomplete row %+v", d)
		}
		if names[d.Name] {
			t.Errorf("two drivers are named %s", d.Name)
		}
		names[d.Name] = true
		if slices.Contains(priorities[d.Algorithm], d.Priority) {
			t.Errorf("%s has the priority of another driver of %s", d.Name, d.Algorithm)
		}
		priorities[d.Algorithm] = append(priorities[d.Algorithm], d.Priority)
	}
	Drivers()[0].Name = "changed"
	if Drivers()[0].Name == "changed" {
		t.Error("Drivers gives its callers the table itself")
	}
}

func TestLookup(t *testing.T) {
	for _, d := range genericDrivers {
		got, err := Lookup(d.Algorithm, 0)
		if err != nil || got.Name != d.Name {
			t.Errorf("Lookup(%q) without features: got %q, %v, want %q", d.Algorithm, got.Name, err, d.Name)
		}
	}
	for _, d := range Drivers() {
		got, err := Lookup(d.Algorithm, d.Needs)
		if err != nil || got.Priority < d.Priority || !d.Needs.Has(got.Needs) {
			t.Errorf("Lookup(%q, %v): got %q of priority %d, %v; %s is there", d.Algorithm, d.Needs, got.Name, got.Priority, err, d.Name)
		}
		got, err = LookupName(d.Name)
		if err != nil || got.Name != d.Name || got.Algorithm != d.Algorithm {
			t.Errorf("LookupName(%q): got %+v, %v", d.Name, got, err)
		}
	}
	for _, name := range []string{"", "xts", "XTS(AES)", "xts-aes-generic", "rot13"} {
		if d, err := Lookup(name, cpufeat.Host()); !errors.Is(err, ErrNoDriver) {
			t.Errorf("Lookup(%q): got %q, %v, want ErrNoDriver", name, d.Name, err)
		}
	}
	for _, name := range []string{"", "xts(aes)", "xts-aes"} {
		if d, err := LookupName(name); !errors.Is(err, ErrNoDriver) {
			t.Errorf("LookupName(%q): got %q, %v, want ErrNoDriver", name, d.Name, err)
		}
	}
}

// With advice against ZMM registers, a driver that uses them is the last resort.
func TestPreferYMM(t *testing.T) {
	for _, d := range Drivers() {
		if got := d.PriorityOn(d.Needs); got != d.Priority {
			t.Errorf("%s: priority %d without advice, want %d", d.Name, got, d.Priority)
		}
		want := d.Priority
		if d.Needs.Has(cpufeat.AVX512F) {
			want = 1
		}
		have := d.Needs | cpufeat.PreferYMM
		if got := d.PriorityOn(have); got != want {
			t.Errorf("%s: priority %d with advice against ZMM, want %d", d.Name, got, want)
		}
		best, err := Lookup(d.Algorithm, have)
		if err != nil || best.Needs.Has(cpufeat.AVX512F) {
			t.Errorf("Lookup(%q, %v): got %s, %v", d.Algorithm, have, best.Name, err)
		}
	}
}

func requiredDrivers() []string {
	return strings.FieldsFunc(os.Getenv("ENCFS_REQUIRE_DRIVERS"), func(r rune) bool { return r == ',' })
}

func TestRequiredDrivers(t *testing.T) {
	for _, name := range requiredDrivers() {
		if _, err := LookupName(name); err != nil {
			t.Error(err)
		}
	}
}
