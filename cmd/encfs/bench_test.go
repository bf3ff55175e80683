package main

import (
	"slices"
	"strings"
	"testing"

	"encfs/cmd/encfs/internal/bench"
	"encfs/cpufeat"
	"encfs/decrypt"
)

func TestSplitList(t *testing.T) {
	for _, tt := range []struct {
		list string
		want []string
	}{
		{"", nil},
		{",, ", nil},
		{"a", []string{"a"}},
		{"a,b", []string{"a", "b"}},
		{" a , b ", []string{"a", "b"}},
		{"adiantum(xchacha12,aes),essiv(cbc(aes),sha256),x", []string{"adiantum(xchacha12,aes)", "essiv(cbc(aes),sha256)", "x"}},
		{"a),b", []string{"a)", "b"}},
		{"a(,b", nil},
	} {
		if got := splitList(tt.list); !slices.Equal(got, tt.want) {
			t.Errorf("splitList(%q): got %q, want %q", tt.list, got, tt.want)
		}
	}
}

func TestChooseDrivers(t *testing.T) {
	for _, tt := range []struct {
		name             string
		ciphers, drivers string
		want             string // names, or what is in the error
		code             int
	}{
		{"mode", "AES-256-HCTR2", "", "hctr2-generic", 0},
		{"algorithm", "adiantum(xchacha12,aes)", "", "adiantum-generic", 0},
		{"no mode's algorithm", "xts(speck128)", "", "xts-speck128-generic", 0},
		{"driver", "", "xts-aes-generic", "xts-aes-generic", 0},
		{"several", "", "hctr2-generic,xts-aes-generic", "xts-aes-generic hctr2-generic", 0},
		{"both", "aes-256-xts,adiantum", "adiantum-generic,xts-aes-generic", "xts-aes-generic adiantum-generic", 0},
		{"nothing in common", "aes-256-xts", "adiantum-generic", "nothing in common", exitUsage},
		{"unknown cipher", "rot13", "", "xts(speck128)", exitUsage},
		{"unknown driver", "", "rot13-generic", "known are", exitUsage},
	} {
		t.Run(tt.name, func(t *testing.T) {
			drivers, err := chooseDrivers(decrypt.Drivers(), tt.ciphers, tt.drivers, 0)
			if tt.code != 0 {
				if code, _ := classify(err); err == nil || code != tt.code || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, code %d, want %q, code %d", err, code, tt.want, tt.code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, d := range drivers {
				names = append(names, d.Name)
			}
			if got := strings.Join(names, " "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestChooseUnusableDriver(t *testing.T) {
	d := decrypt.Driver{Algorithm: "xts(aes)", Name: "wide", Needs: cpufeat.AVX512F}
	if got, err := chooseDrivers([]decrypt.Driver{d}, "", "wide", cpufeat.AVX512F); err != nil || len(got) != 1 {
		t.Errorf("on a CPU that has what it needs: got %v, %v", got, err)
	}
	_, err := chooseDrivers([]decrypt.Driver{d}, "", "wide", 0)
	if code, _ := classify(err); code != exitUnsupported {
		t.Errorf("got %v, code %d, want %d", err, code, exitUnsupported)
	}
}

func TestJudgeChanges(t *testing.T) {
	changes := []bench.Change{{Worse: 5}, {Worse: 20, P: 0.5, Decidable: true}, {Worse: -50}}
	if err := judgeChanges(changes, 5); err != nil {
		t.Error(err)
	}
	err := judgeChanges(append(changes, bench.Change{Worse: 6, P: 0.01, Decidable: true}, bench.Change{Worse: 5.1}), 5)
	if code, _ := classify(err); code != exitFailure || !strings.HasPrefix(err.Error(), "2 of 5 ") {
		t.Errorf("got %v, code %d", err, code)
	}
}
