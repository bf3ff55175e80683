package main

import "testing"

func TestKibibytes(t *testing.T) {
	const bad, small, large = "not a number of KiB", "less than 1KiB", "too large"
	for _, tt := range []struct {
		in   string
		want kibibytes
		err  string
	}{
		{"64", 64, ""},
		{"64KiB", 64, ""},
		{"1MiB", 1024, ""},
		{"2GiB", 2 << 20, ""},
		{"9007199254740991MiB", 9007199254740991 << 10, ""},
		{"9007199254740992MiB", 7, large}, // 2^63 KiB
		{"9223372036854775808", 7, large},
		{"0", 7, small},
		{"-1", 7, small},
		{"", 7, bad},
		{"KiB", 7, bad},
		{"64KB", 7, bad},
		{"64 KiB", 7, bad},
		{"1.5MiB", 7, bad},
	} {
		t.Run(tt.in, func(t *testing.T) {
			got := kibibytes(7)
			err := got.Set(tt.in)
			if got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
			checkError(t, err, tt.err)
		})
	}
}

func TestPositive(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want positive
		err  string
	}{
		{"1", 1, ""},
		{"9223372036854775807", 9223372036854775807, ""},
		{"9223372036854775808", 7, "out of range"},
		{"0", 7, "less than 1"},
		{"-1", 7, "less than 1"},
		{"", 7, "invalid syntax"},
		{"1.5", 7, "invalid syntax"},
	} {
		t.Run(tt.in, func(t *testing.T) {
			got := positive(7)
			err := got.Set(tt.in)
			if got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
			checkError(t, err, tt.err)
		})
	}
}
