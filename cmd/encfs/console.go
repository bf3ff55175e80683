package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
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
