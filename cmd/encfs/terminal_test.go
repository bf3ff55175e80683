package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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
	var n int
	if err := withFD(t, outside, func(fd int) (err error) {
		if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err == nil {
			n, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		}
		return err
	}); err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	inside, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	t.Cleanup(func() { inside.Close() })
	return outside, inside
}

// withFD calls f with a file's descriptor. Unlike Fd it leaves the file one that
// deadlines work for.
func withFD(t *testing.T, file *os.File, f func(fd int) error) error {
	t.Helper()
	conn, err := file.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if e := conn.Control(func(fd uintptr) { err = f(int(fd)) }); e != nil {
		t.Fatal(e)
	}
	return err
}

// termiosOf returns the modes of a terminal, of which file is either end.
func termiosOf(t *testing.T, file *os.File) (mode *unix.Termios) {
	t.Helper()
	if err := withFD(t, file, func(fd int) (err error) {
		mode, err = unix.IoctlGetTermios(fd, unix.TCGETS)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return mode
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
			before := termiosOf(t, inside)
			shown := answerPrompts(outside, tt.answers...)
			got, err := passphraseSource{}.readNew(console{in: inside, err: inside}, "New passphrase: ")
			checkError(t, err, tt.err)
			if err == nil {
				if string(got.Bytes()) != "secret" {
					t.Errorf("got %q, want %q", got.Bytes(), "secret")
				}
				got.Close()
			}
			after := termiosOf(t, inside)
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

// withDefaultSignals has what the test starts begin with the default actions for the
// signals of a terminal, whatever this process was started with: a shell ignores SIGINT
// for what a script starts with &, and nohup SIGHUP. This process goes on ignoring them.
func withDefaultSignals(t *testing.T) {
	t.Helper()
	caught := make(chan os.Signal, 1)
	for _, s := range []os.Signal{unix.SIGINT, unix.SIGHUP, unix.SIGTSTP} {
		if len(notIgnored(s)) == 0 {
			signal.Notify(caught, s)
		}
	}
	t.Cleanup(func() { signal.Stop(caught) })
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
	withDefaultSignals(t)
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
		{
			"stop that is ignored", `trap '' TSTP; encfs ls secret; echo "ended with $?."`,
			[]step{
				{"Passphrase: ", false, "half" + ctrlZ + "correct horse\r"},
				{"ended with 0.", true, ""},
			}, "hal", "",
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
			outside.SetReadDeadline(time.Now().Add(time.Minute)) // rather than wait for ever
			// Without us the terminal has an end when its last program has ended, though
			// a step still waits; and with it all that has it ends, if a step fails.
			inside.Close()
			ended := false
			defer func() {
				outside.Close()
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
				if echo := termiosOf(t, outside).Lflag&unix.ECHO != 0; echo != step.echo {
					t.Errorf("at %q: echo is %v, want %v", step.shown, echo, step.echo)
				}
				io.WriteString(outside, step.typed)
			}
			checkError(t, sh.Wait(), tt.end)
			ended = true
			if termiosOf(t, outside).Lflag&unix.ECHO == 0 {
				t.Error("echo is off at the end")
			}
			rest, _ := io.ReadAll(r) // EIO ends it
			shown.Write(rest)
			if strings.Contains(shown.String(), tt.never) {
				t.Errorf("the terminal shows %q:\n%s", tt.never, shown.String())
			}
		})
	}
}
