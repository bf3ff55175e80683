package main

import (
	"bytes"
	"errors"
	"reflect"
	"syscall"
	"testing"

	"encfs/keys"
)

func TestOrder(t *testing.T) {
	want := serveOrder{
		Source: "/a b", MountPoint: "/c\n\xffd", ReadOnly: true, Options: []string{"noexec"},
		Pipeline: pipelineOptions{Queue: "bound", Scope: "cache", MaxActive: 3}, Log: "/l",
	}
	other, err := keys.NewMasterKey(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, size := range []int{keys.MinMasterKeySize, 32, keys.MaxMasterKeySize} {
		raw := bytes.Repeat([]byte{0xa5}, size)
		mk, err := keys.NewMasterKey(raw)
		if err != nil {
			t.Fatal(err)
		}
		defer mk.Close()
		var pipe bytes.Buffer
		if err := writeOrder(&pipe, want, masterKeys{mk, other}); err != nil {
			t.Fatal(err)
		}
		whole := bytes.Clone(pipe.Bytes())
		got, gotKeys, err := readOrder(&pipe)
		if err != nil {
			t.Fatal(err)
		}
		defer gotKeys.close()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("\n got %+v\nwant %+v", got, want)
		}
		if len(gotKeys) != 2 || gotKeys[0].Identifier() != mk.Identifier() || gotKeys[1].Identifier() != other.Identifier() {
			t.Errorf("keys of %d bytes: got %v, want %v and %v", size, gotKeys, mk, other)
		}
		for n := range whole {
			if _, k, err := readOrder(bytes.NewReader(whole[:n])); err == nil {
				k.close()
				t.Errorf("no error with %d of %d bytes", n, len(whole))
			}
		}
	}
}

func TestAnswer(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		code int
		text string
	}{
		{"mounted", nil, exitDone, ""},
		{"failure", failf(exitBusy, "wait", "it is %w", syscall.EBUSY), exitBusy, "it is device or resource busy; wait"},
		{"other", errors.New("what"), exitFailure, "what"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var pipe bytes.Buffer
			if err := writeAnswer(&pipe, tt.err); err != nil {
				t.Fatal(err)
			}
			checkReport(t, readAnswer(&pipe), tt.code, tt.text)
		})
	}
	t.Run("none", func(t *testing.T) {
		checkReport(t, readAnswer(new(bytes.Buffer)), exitFailure,
			"the serving process ended without an answer; see the system log, or try again with --foreground")
	})
}
