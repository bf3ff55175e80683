package keys

import (
	"bytes"
	"testing"
)

func TestSecret(t *testing.T) {
	for _, n := range []int{1, 15, 16, 17, 64, 4095, 4096, 4097, 10000} {
		s, err := NewSecret(n)
		if err != nil {
			t.Fatal(err)
		}
		b := s.Bytes()
		if len(b) != n || cap(b) != n || s.Len() != n {
			t.Errorf("%d bytes: len %d, cap %d, Len %d", n, len(b), cap(b), s.Len())
		}
		if !bytes.Equal(b, make([]byte, n)) {
			t.Errorf("%d bytes: not zero", n)
		}
		for i := range b {
			b[i] = 0xa5
		}
		if got := s.Bytes(); &got[0] != &b[0] || got[n-1] != 0xa5 {
			t.Errorf("%d bytes: another memory", n)
		}
		s.Close()
		s.Close()
		if s.Len() != 0 || s.Locked() {
			t.Errorf("%d bytes: Len %d, Locked %v after Close", n, s.Len(), s.Locked())
		}
		mustPanic(t, "Bytes after Close", func() { s.Bytes() })
	}
	mustPanic(t, "0 bytes", func() { NewSecret(0) })
	mustPanic(t, "-1 bytes", func() { NewSecret(-1) })
	var none *Secret
	none.Close()
}

func TestCopySecret(t *testing.T) {
	b := pattern(33)
	s, err := CopySecret(b)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	clear(b)
	if got, want := s.Bytes(), pattern(33); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}
