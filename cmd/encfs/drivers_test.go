package main

import (
	"errors"
	"strings"
	"testing"

	"encfs/cpufeat"
	"encfs/decrypt"
)

func TestDescribeDrivers(t *testing.T) {
	driver := func(name string, needs cpufeat.Set) decrypt.Driver {
		return decrypt.Driver{Algorithm: "xts(aes)", Name: name, Needs: needs}
	}
	rows := describeDrivers([]decrypt.Result{
		{Driver: driver("wide", cpufeat.AVX512F), Priority: 800},
		{Driver: driver("bad", 0), Priority: 600, Usable: true, State: decrypt.Failed, Err: errors.New("other data")},
		{Driver: driver("good", 0), Priority: 100, Usable: true, Selected: true, State: decrypt.Passed},
		{Driver: driver("spare", 0), Priority: 1, Usable: true, State: decrypt.TestOff},
		{Driver: decrypt.Driver{Algorithm: "xts(speck128)", Name: "speck"}, Priority: 100, Usable: true},
	}, 0, false)
	if len(rows) != 4 {
		t.Fatalf("got %+v, want four rows, none of which is of a cipher for benchmarks", rows)
	}
	if r := rows[0]; r.Usable || r.Why == "" || r.SelfTest != "not run" {
		t.Errorf("driver that cannot run: %+v", r)
	}
	if r := rows[1]; r.Usable || r.Why != "other data" || r.SelfTest != "failed" || r.Selected {
		t.Errorf("driver that failed: %+v", r)
	}
	var b strings.Builder
	if err := printDrivers(&b, rows); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(b.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	for i, want := range []string{
		"ALGORITHM DRIVER PRIORITY USE SELF-TEST NEEDS",
		"xts(aes) wide 800 no not run avx512f: ",
		"xts(aes) bad 600 no failed -: other data",
		"xts(aes) good 100 selected passed -",
		"xts(aes) spare 1 usable off -",
	} {
		if !strings.HasPrefix(got[i], want) {
			t.Errorf("line %d: got %q, want %q", i, got[i], want)
		}
	}
}
