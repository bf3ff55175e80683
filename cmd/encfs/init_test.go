package main

import (
	"testing"

	"encfs/cpufeat"
	"encfs/keys"
)

func TestPolicyChoice(t *testing.T) {
	for _, tt := range []struct {
		cipher, names, padding string
		have                   cpufeat.Set
		want                   keys.Policy
		why                    string
		err                    string
	}{
		{"auto", "auto", "32", cpufeat.AES, keys.Policy{Contents: keys.AES256XTS, Filenames: keys.AES256CTS, Flags: keys.FlagPad32}, "the CPU has AES instructions", ""},
		{"auto", "auto", "4", 0, keys.Policy{Contents: keys.Adiantum, Filenames: keys.Adiantum}, "the CPU has no AES instructions", ""},
		{"aes-256-xts", "auto", "8", 0, keys.Policy{Contents: keys.AES256XTS, Filenames: keys.AES256CTS, Flags: keys.FlagPad8}, "", ""},
		{"aes-256-xts", "aes-256-hctr2", "16", 0, keys.Policy{Contents: keys.AES256XTS, Filenames: keys.AES256HCTR2, Flags: keys.FlagPad16}, "", ""},
		{"aes-128-cbc-essiv", "auto", "32", cpufeat.AES, keys.Policy{Contents: keys.AES128CBCESSIV, Filenames: keys.AES128CTS, Flags: keys.FlagPad32}, "", ""},
		{"adiantum", "adiantum", "32", cpufeat.AES, keys.Policy{Contents: keys.Adiantum, Filenames: keys.Adiantum, Flags: keys.FlagPad32}, "", ""},
		{"auto", "aes-128-cts", "32", cpufeat.AES, keys.Policy{}, "", "--cipher auto with --names aes-128-cts: "},
		{"aes-128-cbc-essiv", "aes-256-cts", "32", 0, keys.Policy{}, "", "--cipher aes-128-cbc-essiv with --names aes-256-cts: "},
		{"adiantum", "aes-256-hctr2", "32", 0, keys.Policy{}, "", "--cipher adiantum with --names aes-256-hctr2: "},
	} {
		t.Run(tt.cipher+" "+tt.names+" "+tt.padding, func(t *testing.T) {
			got, why, err := policyChoice{
				cipher: choice{value: tt.cipher}, names: choice{value: tt.names}, padding: choice{value: tt.padding},
			}.policy(tt.have)
			checkError(t, err, tt.err)
			if err != nil {
				return
			}
			tt.want.Version = 2
			if got != tt.want || why != tt.why {
				t.Errorf("\n got %+v, %q\nwant %+v, %q", got, why, tt.want, tt.why)
			}
		})
	}
}

func TestRandomLetters(t *testing.T) {
	seen := map[byte]bool{}
	for range 100 {
		s, err := randomLetters(recoveryLetters)
		if err != nil {
			t.Fatal(err)
		}
		if s.Len() != recoveryLetters {
			t.Fatalf("got %d letters, want %d", s.Len(), recoveryLetters)
		}
		for _, b := range s.Bytes() {
			if b < 'a' || b > 'z' {
				t.Fatalf("got %q, which is no letter", b)
			}
			seen[b] = true
		}
		s.Close()
	}
	if len(seen) != 26 { // but for one time in 10^33
		t.Errorf("got %d different letters, want 26", len(seen))
	}
}
