package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
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

// TestTerminalSignals stops a command at its prompt, continues it, and ends it, under a
// shell that has the terminal, as somebody at the keyboard does. In each step it waits for
// what the terminal shows and then types.
func TestTerminalSignals(t *testing.T) {
	dir := t.TempDir()
	passfile := filepath.Join(dir, "pass")
	if err := os.WriteFile(passfile, []byte("correct horse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	init := []string{"init", "--passfile", passfile, "--argon2-time", "1", "--argon2-memory", "64KiB", "--argon2-parallelism", "1", filepath.Join(dir, "secret")}
	if code := run(init, strings.NewReader(""), io.Discard, io.Discard); code != exitDone {
		t.Fatalf("init: exit code %d", code)
	}
	const ctrlC, ctrlZ, ctrlBackslash = "\x03", "\x1a", "\x1c"
	type step struct {
		shown string // what is new on the terminal ends with it
		echo  bool   // then
		typed string
	}
	for _, tt := range []struct {
		name, script string
		steps        []step
		never        string
		end          string // of the shell, "" if it succeeds
	}{
		{
			"stop and continue", `encfs ls secret; printf 'stopped: '; read line; fg >fg; echo "ended with $?."`,
			[]step{
				{"Passphrase: ", false, ctrlZ},
				{"stopped: ", true, "\r"},
				{"Passphrase: ", false, "correct horse\r"},
				{"ended with 0.", true, ""},
			}, "horse", "",
		},
		{
			"stop while typing", `encfs ls secret; printf 'stopped: '; read line; fg >fg; echo "ended with $?."`,
			[]step{
				{"Passphrase: ", false, "half" + ctrlZ},
				{"stopped: ", true, "\r"},
				{"Passphrase: ", false, "correct horse\r"},
				{"ended with 0.", true, ""},
			}, "hal", "",
		},
		{
			"interrupt", `exec encfs ls secret`,
			[]step{{"Passphrase: ", false, ctrlC}}, "goroutine", "signal: interrupt",
		},
		{
			"quit", `exec encfs ls secret`,
			[]step{{"Passphrase: ", false, ctrlBackslash}}, "goroutine", "signal: quit",
		},
		{
			// Nobody could continue it, so it goes on.
			"stop without a shell", `exec encfs ls secret`,
			[]step{{"Passphrase: ", false, ctrlZ + "correct horse\r"}}, "goroutine", "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			outside, inside := openTerminal(t)
			sh := exec.Command("bash", "-mc", tt.script)
			if sh.Err != nil {
				t.Skip("no bash")
			}
			sh.Dir = dir
			sh.Stdin, sh.Stdout, sh.Stderr = inside, inside, inside
			sh.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := sh.Start(); err != nil {
				t.Fatal(err)
			}
			// All that has this terminal ends with it, if a step fails.
			ended := false
			defer func() {
				outside.Close()
				inside.Close()
				if !ended {
					sh.Wait()
				}
			}()
			var shown strings.Builder
			r := bufio.NewReader(outside)
			for _, step := range tt.steps {
				from := shown.Len()
				for !strings.HasSuffix(shown.String()[from:], step.shown) {
					b, err := r.ReadByte()
					if err != nil {
						t.Fatalf("after %q: %v", shown.String(), err)
					}
					shown.WriteByte(b)
				}
				mode, err := unix.IoctlGetTermios(int(inside.Fd()), unix.TCGETS)
				if err != nil {
					t.Fatal(err)
				}
				if echo := mode.Lflag&unix.ECHO != 0; echo != step.echo {
					t.Errorf("at %q: echo is %v, want %v", step.shown, echo, step.echo)
				}
				io.WriteString(outside, step.typed)
			}
			checkError(t, sh.Wait(), tt.end)
			ended = true
			mode, err := unix.IoctlGetTermios(int(inside.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			if mode.Lflag&unix.ECHO == 0 {
				t.Error("echo is off at the end")
			}
			inside.Close()
			rest, _ := io.ReadAll(r) // EIO ends it
			shown.Write(rest)
			if strings.Contains(shown.String(), tt.never) {
				t.Errorf("the terminal shows %q:\n%s", tt.never, shown.String())
			}
		})
	}
}
