package dirstore

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLock(t *testing.T) {
	for _, tt := range []struct {
		name          string
		first, second bool // shared
		want          error
	}{
		{"alone twice", false, false, unix.EWOULDBLOCK},
		{"alone, then shared", false, true, unix.EWOULDBLOCK},
		{"shared, then alone", true, false, unix.EWOULDBLOCK},
		{"shared twice", true, true, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := newTree(t)
			a, b := open(t, dir, Options{}), open(t, dir, Options{})
			defer b.Close()
			if err := a.Lock(tt.first); err != nil {
				t.Fatal(err)
			}
			if err := b.Lock(tt.second); !errors.Is(err, tt.want) {
				t.Errorf("second Lock = %v, want %v", err, tt.want)
			}
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			if tt.want == nil {
				return
			}
			if err := b.Lock(tt.second); err != nil {
				t.Errorf("Lock after the other's Close = %v", err)
			}
		})
	}
}
