package main

import "testing"

func TestKibibytes(t *testing.T) {
	const bad = "not a positive number of KiB"
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
		{"9007199254740992MiB", 7, bad}, // 2^63 KiB
		{"0", 7, bad},
		{"-1", 7, bad},
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
