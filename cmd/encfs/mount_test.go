package main

import (
	"os"
	"testing"
)

// The server is started by the program's own path, which gives its process the name.
func TestOwnProgram(t *testing.T) {
	want, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if got := ownProgram(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
