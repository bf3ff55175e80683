package main

import "testing"

func TestModeString(t *testing.T) {
	for _, tt := range []struct {
		mode uint32
		want string
	}{
		{0o100644, "-rw-r--r--"},
		{0o040755, "drwxr-xr-x"},
		{0o120777, "lrwxrwxrwx"},
		{0o020620, "crw--w----"},
		{0o060660, "brw-rw----"},
		{0o010600, "prw-------"},
		{0o140700, "srwx------"},
		{0o100000, "----------"},
		{0o104755, "-rwsr-xr-x"},
		{0o104644, "-rwSr--r--"},
		{0o102755, "-rwxr-sr-x"},
		{0o102644, "-rw-r-Sr--"},
		{0o041777, "drwxrwxrwt"},
		{0o041776, "drwxrwxrwT"},
		{0o000644, "?rw-r--r--"},
	} {
		if got := modeString(tt.mode); got != tt.want {
			t.Errorf("modeString(%#o): got %s, want %s", tt.mode, got, tt.want)
		}
	}
}
