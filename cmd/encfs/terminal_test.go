package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal returns both ends of a pseudo-terminal.
func openTerminal(t *testing.T) (outside, inside *os.File) {
	t.Helper()
	outside, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	t.Cleanup(func() { outside.Close() })
	if err := unix.IoctlSetPointerInt(int(outside.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	n, err := unix.IoctlGetInt(int(outside.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	inside, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	t.Cleanup(func() { inside.Close() })
	return outside, inside
}

// answerPrompts answers prompts, which end in ": ", with lines, and returns all that the
// terminal showed until it was closed.
func answerPrompts(outside *os.File, answers ...string) <-chan string {
	shown := make(chan string, 1)
	go func() {
		var text strings.Builder
		r := bufio.NewReader(outside)
		for {
			b, err := r.ReadByte()
			if err != nil {
				shown <- text.String()
				return
			}
			text.WriteByte(b)
			if strings.HasSuffix(text.String(), ": ") && len(answers) > 0 {
				io.WriteString(outside, answers[0]+"\r")
				answers = answers[1:]
			}
		}
	}()
	return shown
}

func TestTerminal(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers []string
		err     string
	}{
		{"same twice", []string{"secret", "secret"}, ""},
		{"different", []string{"secret", "secrets"}, "the two passphrases differ"},
		{"nothing", []string{""}, "empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			outside, inside := openTerminal(t)
			before, err := unix.IoctlGetTermios(int(inside.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			shown := answerPrompts(outside, tt.answers...)
			got, err := passphraseSource{}.readNew(console{in: inside, err: inside}, "New passphrase: ")
			checkError(t, err, tt.err)
			if err == nil {
				if string(got.Bytes()) != "secret" {
					t.Errorf("got %q, want %q", got.Bytes(), "secret")
				}
				got.Close()
			}
			after, err := unix.IoctlGetTermios(int(inside.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			if *after != *before {
				t.Errorf("terminal is left otherwise:\n got %+v\nwant %+v", *after, *before)
			}
			inside.Close()
			want := "New passphrase: \r\n"
			if len(tt.answers) > 1 {
				want += "Again: \r\n"
			}
			if got := <-shown; got != want {
				t.Errorf("shown:\n got %q\nwant %q", got, want)
			}
		})
	}
}
