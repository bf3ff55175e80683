//go:build !noselftest

package keys

import "testing"

func TestKnownAnswerTests(t *testing.T) {
	tests := KnownAnswerTests()
	if len(tests) != 3 {
		t.Errorf("%d tests, want one each for HKDF, the key derivation of version 1 and SipHash", len(tests))
	}
	for _, k := range tests {
		t.Run(k.Name, func(t *testing.T) {
			if err := k.Run(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestKnownAnswerTestsCompare(t *testing.T) {
	if err := compare("x", []byte{1, 2}, "0102"); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"", "01", "0103", "010200"} {
		if err := compare("x", []byte{1, 2}, want); err == nil {
			t.Errorf("0102 passes for %q", want)
		}
	}
}

func BenchmarkKnownAnswerTests(b *testing.B) {
	for b.Loop() {
		for _, k := range KnownAnswerTests() {
			if err := k.Run(); err != nil {
				b.Fatal(err)
			}
		}
	}
}
