package main

import (
	"errors"
	"strings"
	"testing"

	"encfs/cpufeat"
	"encfs/decrypt"
	"encfs/keys"
)

// A self-test that fails costs the program nothing but the driver, unless there is
// no other.
func TestSelfTestsFail(t *testing.T) {
	good, err := decrypt.LookupName("xts-aes-generic")
	if err != nil {
		t.Fatal(err)
	}
	if errors.Is(good.SelfTest(false), decrypt.ErrNoSelfTests) {
		t.Skip("built without self-tests")
	}
	bad := good
	bad.Name = "xts-aes-bad"
	bad.New = func([]byte) (decrypt.Cipher, error) { return nil, errors.New("no cipher") }
	unusable := bad
	unusable.Name, unusable.Needs = "xts-aes-wide", cpufeat.AVX512F
	kdf := func(err error) keys.KnownAnswerTest {
		return keys.KnownAnswerTest{Name: "kdf", Run: func() error { return err }}
	}
	broken := errors.New("other key")
	for _, tt := range []struct {
		name    string
		drivers []decrypt.Driver
		kdf     error
		code    int
		lines   []string // fields of each
	}{
		{"good", []decrypt.Driver{good}, nil, exitDone, []string{"xts(aes) xts-aes-generic passed", "kdf - passed"}},
		{"one bad", []decrypt.Driver{bad, good}, nil, exitProblems, []string{"xts(aes) xts-aes-bad failed", "xts(aes) xts-aes-generic passed", "kdf - passed"}},
		{"none left", []decrypt.Driver{bad}, nil, exitSelfTest, []string{"xts(aes) xts-aes-bad failed", "kdf - passed"}},
		{"none left but one that cannot run", []decrypt.Driver{bad, unusable}, nil, exitSelfTest, []string{"xts(aes) xts-aes-bad failed", "xts(aes) xts-aes-wide not run", "kdf - passed"}},
		{"one that cannot run", []decrypt.Driver{unusable, good}, nil, exitDone, []string{"xts(aes) xts-aes-wide not run", "xts(aes) xts-aes-generic passed", "kdf - passed"}},
		{"bad key derivation", []decrypt.Driver{good}, broken, exitSelfTest, []string{"xts(aes) xts-aes-generic passed", "kdf - failed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			results := runSelfTests(tt.drivers, []keys.KnownAnswerTest{kdf(tt.kdf)}, 0, false)
			err := judgeSelfTests(results)
			if code := report(new(strings.Builder), err); code != tt.code {
				t.Errorf("exit code %d, want %d: %v", code, tt.code, err)
			}
			var b strings.Builder
			if err := printSelfTests(&b, results); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
			if len(lines) != len(tt.lines)+1 {
				t.Fatalf("got\n%s\nwant %q and the sum", &b, tt.lines)
			}
			for i, want := range tt.lines {
				if got := strings.Join(strings.Fields(lines[i]), " "); !strings.HasPrefix(got, want) {
					t.Errorf("line %d: got %q, want %q", i, got, want)
				}
			}
		})
	}
}
