//go:build !noselftest

package decrypt

import (
	"bytes"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"encfs/cpufeat"
	"encfs/keys"
)

// broken returns d with a driver whose ciphertext is wrong.
func broken(d Driver) Driver {
	return d.with(func(c Cipher) Cipher { return faultyCipher{c, 16, 0} })
}

// better returns a second driver with the algorithm of d and a higher priority.
func better(d Driver, name string, priority int) Driver {
	d.Name, d.Priority = name, priority
	return d
}

func brokenKDF() error { return errors.New("keys: broken") }

func mustTable(t *testing.T, drivers []Driver, have cpufeat.Set, mode SelfTest, log *slog.Logger) *Table {
	t.Helper()
	table, err := newTable(drivers, nil, have, mode, log)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestTableReplacesBrokenDrivers(t *testing.T) {
	for _, good := range genericDrivers {
		for _, mode := range []SelfTest{SelfTestLazy, SelfTestFull} {
			t.Run(good.Name+"/"+mode.String(), func(t *testing.T) {
				var text bytes.Buffer
				bad := broken(better(good, "bad", 300))
				worse := broken(better(good, "worse", 400))
				table := mustTable(t, []Driver{good, bad, worse}, 0, mode, slog.New(slog.NewTextHandler(&text, nil)))
				for range 2 {
					got, err := table.Lookup(good.Algorithm)
					if err != nil || got.Name != good.Name {
						t.Errorf("Lookup: got %s, %v, want %s", got.Name, err, good.Name)
					}
				}
				if d, err := table.LookupName("bad"); !errors.Is(err, ErrSelfTest) {
					t.Errorf("LookupName of a broken driver: got %s, %v", d.Name, err)
				}
				if err := table.Choose("bad"); !errors.Is(err, ErrSelfTest) {
					t.Errorf("Choose of a broken driver: %v", err)
				}
				for _, name := range []string{"bad", "worse"} {
					if got := strings.Count(text.String(), "driver="+name); got != 1 {
						t.Errorf("%d warnings about %s, want 1:\n%s", got, name, &text)
					}
				}
				if got := strings.Count(text.String(), "level=WARN"); got != 2 {
					t.Errorf("%d warnings, want 2:\n%s", got, &text)
				}
				var states []string
				for _, r := range table.Results() {
					state := r.Driver.Name + " " + r.State.String()
					if r.Selected {
						state += " selected"
					}
					if (r.Err != nil) != (r.State == Failed) || (r.Took > 0) != (r.State != NotRun) {
						t.Errorf("inconsistent result %+v", r)
					}
					states = append(states, state)
				}
				want := []string{"worse failed", "bad failed", good.Name + " passed selected"}
				if !slices.Equal(states, want) {
					t.Errorf("Results: got %q, want %q", states, want)
				}
			})
		}
	}
}

func TestTableWithNothingLeft(t *testing.T) {
	for _, good := range genericDrivers {
		t.Run(good.Name, func(t *testing.T) {
			drivers := []Driver{broken(good), broken(better(good, "bad", 300))}
			table := mustTable(t, drivers, 0, SelfTestLazy, nil)
			if d, err := table.Lookup(good.Algorithm); !errors.Is(err, ErrSelfTest) {
				t.Errorf("Lookup: got %q, %v, want ErrSelfTest", d.Name, err)
			}
			if table, err := newTable(drivers, nil, 0, SelfTestFull, nil); !errors.Is(err, ErrSelfTest) {
				t.Errorf("full: got %v, %v, want ErrSelfTest", table, err)
			}
		})
	}
}

func TestTableIsLazy(t *testing.T) {
	var tested []string
	var drivers []Driver
	for _, d := range genericDrivers {
		drivers = append(drivers, d.with(func(c Cipher) Cipher {
			if !slices.Contains(tested, d.Name) {
				tested = append(tested, d.Name)
			}
			return c
		}))
	}
	table := mustTable(t, drivers, 0, SelfTestLazy, nil)
	table.Results()
	if len(tested) != 0 {
		t.Fatalf("tested before first use: %q", tested)
	}
	for i, d := range drivers {
		if _, err := table.Lookup(d.Algorithm); err != nil {
			t.Error(err)
		}
		if len(tested) != i+1 {
			t.Errorf("after the first use of %d drivers %q are tested", i+1, tested)
		}
	}
	tested = nil
	mustTable(t, drivers, 0, SelfTestFull, nil)
	if len(tested) != len(drivers) {
		t.Errorf("full: tested %q", tested)
	}
}

func TestTableTestsOnce(t *testing.T) {
	const goroutines = 16
	good := genericDrivers[0]
	var news, kdfs atomic.Int32
	counted := good.with(func(c Cipher) Cipher { news.Add(1); return c })
	if err := counted.SelfTest(false); err != nil {
		t.Fatal(err)
	}
	want := news.Swap(0)
	kdf := keys.KnownAnswerTest{Name: "kdf", Run: func() error { kdfs.Add(1); return nil }}
	table, err := newTable([]Driver{counted}, []keys.KnownAnswerTest{kdf}, 0, SelfTestLazy, nil)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			if _, err := table.Lookup(good.Algorithm); err != nil {
				t.Error(err)
			}
			if err := table.TestKDFs(); err != nil {
				t.Error(err)
			}
			table.Results()
		})
	}
	wg.Wait()
	if got := news.Load(); got != want {
		t.Errorf("%d ciphers made for the self-test, want %d", got, want)
	}
	if got := kdfs.Load(); got != 1 {
		t.Errorf("key derivation tested %d times", got)
	}
}

// With self-tests off nothing is done for them: no test is run, and neither goroutine
// nor allocation is spent, for any driver of this machine and any key derivation.
func TestTableOff(t *testing.T) {
	ran := func() { panic("a self-test ran") }
	drivers := Drivers()
	for i := range drivers {
		drivers[i].New = func([]byte) (Cipher, error) { ran(); return nil, nil }
		drivers[i].Needs = 0
	}
	kdfs := keys.KnownAnswerTests()
	if len(kdfs) == 0 {
		t.Fatal("no key derivation has a test")
	}
	for i := range kdfs {
		kdfs[i].Run = func() error { ran(); return nil }
	}
	goroutines := runtime.NumGoroutine()
	off, err := newTable(drivers, kdfs, cpufeat.Host(), SelfTestOff, nil)
	if err != nil {
		t.Fatal(err)
	}
	lazy, err := newTable(drivers, kdfs, cpufeat.Host(), SelfTestLazy, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range drivers {
		if got := testing.AllocsPerRun(10, func() {
			if _, err := off.Lookup(d.Algorithm); err != nil {
				t.Error(err)
			}
			if got, err := off.LookupName(d.Name); err != nil || got.Name != d.Name {
				t.Errorf("LookupName(%q): got %s, %v", d.Name, got.Name, err)
			}
		}); got != 0 {
			t.Errorf("%s: %v allocations", d.Name, got)
		}
		// It would have been noticed.
		wantRun(t, d.Name, func() { lazy.LookupName(d.Name) })
	}
	if got := testing.AllocsPerRun(10, func() {
		if err := off.TestKDFs(); err != nil {
			t.Error(err)
		}
	}); got != 0 {
		t.Errorf("TestKDFs: %v allocations", got)
	}
	for _, k := range kdfs {
		one, err := newTable(nil, []keys.KnownAnswerTest{k}, 0, SelfTestLazy, nil)
		if err != nil {
			t.Fatal(err)
		}
		wantRun(t, k.Name, func() { one.TestKDFs() })
	}
	for _, r := range off.Results() {
		if r.State != TestOff || r.Took != 0 {
			t.Errorf("%s: %v, took %v", r.Driver.Name, r.State, r.Took)
		}
	}
	if got := runtime.NumGoroutine(); got > goroutines {
		t.Errorf("%d goroutines, %d before", got, goroutines)
	}
}

// wantRun checks that f runs a self-test of TestTableOff.
func wantRun(t *testing.T, name string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if recover() != "a self-test ran" {
			t.Errorf("%s: no self-test ran", name)
		}
	}()
	f()
}

func TestTableLookup(t *testing.T) {
	good := genericDrivers[0]
	avx := better(good, "avx", 500)
	avx.Needs = cpufeat.AVX
	zmm := better(good, "zmm", 800)
	zmm.Needs = cpufeat.AVX512F
	drivers := []Driver{good, zmm, avx}
	for _, tt := range []struct {
		name   string
		have   cpufeat.Set
		choose string
		want   string
	}{
		{"no features", 0, "", good.Name},
		{"AVX", cpufeat.AVX, "", "avx"},
		{"all", cpufeat.AVX | cpufeat.AVX512F, "", "zmm"},
		{"advice against ZMM", cpufeat.AVX | cpufeat.AVX512F | cpufeat.PreferYMM, "", "avx"},
		{"chosen", cpufeat.AVX | cpufeat.AVX512F, good.Name, good.Name},
		{"chosen against advice", cpufeat.AVX | cpufeat.AVX512F | cpufeat.PreferYMM, "zmm", "zmm"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, mode := range []SelfTest{SelfTestLazy, SelfTestFull, SelfTestOff} {
				table := mustTable(t, drivers, tt.have, mode, nil)
				if tt.choose != "" {
					if err := table.Choose(tt.choose); err != nil {
						t.Fatal(err)
					}
				}
				got, err := table.Lookup(good.Algorithm)
				if err != nil || got.Name != tt.want {
					t.Errorf("%v: Lookup: got %s, %v, want %s", mode, got.Name, err, tt.want)
				}
				for _, r := range table.Results() {
					if want := r.Driver.Name == tt.want; r.Selected != want {
						t.Errorf("%v: %s: selected is %v", mode, r.Driver.Name, r.Selected)
					}
					if r.Usable != tt.have.Has(r.Driver.Needs) {
						t.Errorf("%v: %s: usable is %v", mode, r.Driver.Name, r.Usable)
					}
				}
			}
		})
	}
}

func TestTableErrors(t *testing.T) {
	good := genericDrivers[0]
	avx := better(good, "avx", 500)
	avx.Needs = cpufeat.AVX | cpufeat.AES
	table := mustTable(t, []Driver{good, avx}, cpufeat.AES, SelfTestLazy, nil)
	if _, err := table.Lookup("rot13"); !errors.Is(err, ErrNoDriver) || errors.Is(err, ErrSelfTest) {
		t.Errorf("Lookup of an unknown algorithm: %v", err)
	}
	for _, lookup := range []func(string) error{
		func(name string) error { _, err := table.LookupName(name); return err },
		table.Choose,
	} {
		if err := lookup("none"); !errors.Is(err, ErrNoDriver) {
			t.Errorf("unknown driver: %v", err)
		}
		u, ok := errors.AsType[*UnusableError](lookup("avx"))
		if !ok || u.Driver.Name != "avx" || u.Have != cpufeat.AES || !strings.HasSuffix(u.Error(), "lacks avx") {
			t.Errorf("driver that needs AVX: %v", u)
		}
	}
	kdfs := []keys.KnownAnswerTest{{Name: "kdf", Run: brokenKDF}}
	broken, err := newTable([]Driver{good}, kdfs, 0, SelfTestLazy, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := broken.TestKDFs(); !errors.Is(err, ErrSelfTest) {
			t.Errorf("broken key derivation: %v", err)
		}
	}
	if _, err := newTable([]Driver{good}, kdfs, 0, SelfTestFull, nil); !errors.Is(err, ErrSelfTest) {
		t.Errorf("broken key derivation, full: %v", err)
	}
}

// This machine's own Table passes.
func TestNewTable(t *testing.T) {
	table, err := NewTable(cpufeat.Host(), SelfTestFull, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range table.Results() {
		want := NotRun
		if r.Usable {
			want = Passed
		}
		if r.State != want {
			t.Errorf("%s: %v, want %v: %v", r.Driver.Name, r.State, want, r.Err)
		}
	}
	if got, want := len(table.Results()), len(Drivers()); got != want {
		t.Errorf("%d results, want %d", got, want)
	}
	for _, a := range Algorithms() {
		want, err := Lookup(a.Name, cpufeat.Host())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := table.Lookup(a.Name); err != nil || got.Name != want.Name {
			t.Errorf("Lookup(%q): got %s, %v, want %s", a.Name, got.Name, err, want.Name)
		}
	}
}

func TestParseSelfTest(t *testing.T) {
	for _, m := range []SelfTest{SelfTestLazy, SelfTestFull, SelfTestOff} {
		if got, err := ParseSelfTest(m.String()); err != nil || got != m {
			t.Errorf("ParseSelfTest(%q) = %v, %v", m, got, err)
		}
	}
	for _, name := range []string{"", "Lazy", "on"} {
		if m, err := ParseSelfTest(name); err == nil {
			t.Errorf("ParseSelfTest(%q) = %v", name, m)
		}
	}
}
