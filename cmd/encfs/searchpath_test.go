package main

import "testing"

func TestSearchPath(t *testing.T) {
	for _, tt := range []struct{ name, path, want string }{
		{"none", "", "/usr/local/bin:/usr/bin:/bin"},
		{"usual", "/usr/local/bin:/usr/bin:/bin:/games", "/usr/local/bin:/usr/bin:/bin:/games"},
		{"some", "/opt/bin:/usr/bin", "/opt/bin:/usr/bin:/usr/local/bin:/bin"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := searchPath(tt.path); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
