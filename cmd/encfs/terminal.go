package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"

	"golang.org/x/sys/unix"

	"encfs/keys"
)

// A terminal is one to ask for secrets on.
type terminal struct{ f *os.File }

// ask writes prompt to w and reads a passphrase that is not shown. A signal that
// ends or stops the program meanwhile leaves the terminal as it was; when the
// program goes on, it asks again. A signal that whoever started the program has it
// ignore changes nothing.
func (t terminal) ask(w io.Writer, prompt string) (*keys.Secret, error) {
	fd := int(t.f.Fd())
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	silent := *before
	silent.Lflag &^= unix.ECHO
	silent.Lflag |= unix.ICANON | unix.ISIG
	silent.Iflag |= unix.ICRNL

	q := question{fd: fd, before: before, silent: &silent, w: w, prompt: prompt}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, notIgnored(unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGHUP, unix.SIGTSTP, unix.SIGCONT)...)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for s := range signals {
			q.signalled(s.(unix.Signal))
		}
	})
	defer watcher.Wait()
	defer close(signals)
	defer signal.Stop(signals)
	defer q.end()
	if err := q.begin(); err != nil {
		return nil, err
	}
	return keys.ReadPassphrase(t.f)
}

// A question is a prompt that has not been answered yet.
type question struct {
	fd             int
	before, silent *unix.Termios
	w              io.Writer
	prompt         string

	mu   sync.Mutex // guards the modes of the terminal
	over bool
}

// begin makes the terminal silent, forgets what has been typed, and asks.
func (q *question) begin() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.over {
		return nil
	}
	if err := unix.IoctlSetTermios(q.fd, unix.TCSETSF, q.silent); err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	io.WriteString(q.w, q.prompt)
	return nil
}

// end leaves the terminal as it was before, on a new line.
func (q *question) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.over = true
	io.WriteString(q.w, "\n")
	unix.IoctlSetTermios(q.fd, unix.TCSETS, q.before)
}

func (q *question) signalled(s unix.Signal) {
	switch s {
	case unix.SIGCONT:
		// Who stopped us may have been another than the terminal, and the shell has
		// modes of its own.
		q.begin()
	case unix.SIGTSTP:
		q.restore()
		takeDefault(s)
		// Here again without having been stopped, if nobody could continue us.
		q.mu.Lock()
		defer q.mu.Unlock()
		if !q.over {
			unix.IoctlSetTermios(q.fd, unix.TCSETS, q.silent)
		}
	case unix.SIGQUIT:
		q.restore()
		takeDefault(s)
	default:
		q.restore()
		signal.Reset(s)
		unix.Kill(os.Getpid(), s)
	}
}

func (q *question) restore() {
	q.mu.Lock()
	defer q.mu.Unlock()
	unix.IoctlSetTermios(q.fd, unix.TCSETS, q.before)
}
