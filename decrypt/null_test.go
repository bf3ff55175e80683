package decrypt

import (
	"bytes"
	"testing"
)

func TestNullDriver(t *testing.T) {
	c, err := NullDriver().New(nil)
	if err != nil {
		t.Fatal(err)
	}
	units := c.(UnitsCipher)
	for _, n := range []int{0, 16, 4096, 5000} {
		src := bytes.Repeat([]byte("0123456789abcdef"), n/16+1)[:n]
		for name, f := range map[string]func(dst, src []byte){
			"Encrypt":      func(dst, src []byte) { c.Encrypt(dst, src, nil) },
			"Decrypt":      func(dst, src []byte) { c.Decrypt(dst, src, nil) },
			"EncryptUnits": func(dst, src []byte) { units.EncryptUnits(dst, src, 4096, nil) },
			"DecryptUnits": func(dst, src []byte) { units.DecryptUnits(dst, src, 4096, nil) },
		} {
			dst, same := make([]byte, n), bytes.Clone(src)
			f(dst, src)
			f(same, same)
			if !bytes.Equal(dst, src) || !bytes.Equal(same, src) {
				t.Errorf("%s changes %d bytes", name, n)
			}
		}
	}
	for _, d := range Drivers() {
		if d.Name == NullDriver().Name || d.Algorithm == NullDriver().Algorithm {
			t.Errorf("%s is among the drivers for files", d.Name)
		}
	}
}
