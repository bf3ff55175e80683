//go:build !noselftest

package bench

import (
	"errors"
	"testing"

	"encfs/decrypt"
)

// A driver that fails its self-test is not measured as if it were one.
func TestCipherOfBrokenDriver(t *testing.T) {
	d, err := decrypt.LookupName("xts-aes-generic")
	if err != nil {
		t.Fatal(err)
	}
	d.Name = "broken"
	working := d.New
	d.New = func(key []byte) (decrypt.Cipher, error) { return working(make([]byte, len(key))) }
	results, err := Cipher([]decrypt.Driver{d}, CipherOptions{Runs: 1})
	if !errors.Is(err, decrypt.ErrSelfTest) {
		t.Errorf("got %v, %v, want ErrSelfTest", results, err)
	}
}
