package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"encfs/keys"
)

// A console is where a command asks for passphrases and writes messages.
type console struct {
	in  io.Reader
	err io.Writer
}

func consoleOf(cmd *cobra.Command) console {
	return console{in: cmd.InOrStdin(), err: cmd.ErrOrStderr()}
}

// notef writes a message that is no result.
func (c console) notef(format string, args ...any) {
	fmt.Fprintln(c.err, "encfs: "+printable(fmt.Sprintf(format, args...)))
}

// terminal returns standard input if it is a terminal.
func (c console) terminal() (terminal, bool) {
	f, ok := c.in.(*os.File)
	return terminal{f}, ok && term.IsTerminal(int(f.Fd()))
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// A terminal is one to ask for secrets on.
type terminal struct{ f *os.File }

// ask writes prompt to w and reads a passphrase that is not shown. A signal that
// ends the program meanwhile leaves the terminal as it was.
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

	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGHUP)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		if s, ok := <-signals; ok {
			unix.IoctlSetTermios(fd, unix.TCSETS, before)
			signal.Reset(s)
			unix.Kill(os.Getpid(), s.(unix.Signal))
		}
	})
	defer watcher.Wait()
	defer close(signals)
	defer signal.Stop(signals)

	if err := unix.IoctlSetTermios(fd, unix.TCSETSF, &silent); err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	defer unix.IoctlSetTermios(fd, unix.TCSETS, before)
	io.WriteString(w, prompt)
	defer io.WriteString(w, "\n")
	return keys.ReadPassphrase(t.f)
}
