package main

import (
	"bytes"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"encfs/keys"
)

// A passphraseSource says where to read a passphrase. The zero value is the
// terminal and, where standard input is none, standard input.
type passphraseSource struct {
	file    string // its first line; "-" is standard input
	command string // the first line that it prints, run by /bin/sh
}

// read returns the passphrase as typed, without its line end, at least one byte.
// Of what a line is, see [keys.ReadPassphrase]. On a terminal it asks with
// prompt. Standard input is read up to the line end and no further, so that a
// second passphrase may follow. The caller closes the result.
func (p passphraseSource) read(c console, prompt string) (*keys.Secret, error) {
	secret, err := p.readAny(c, prompt)
	if err != nil {
		return nil, secretError(err)
	}
	return secret, nil
}

// secretError gives an error of reading a secret its exit code: a file that cannot be
// read says nothing about the key.
func secretError(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok && path.Path != os.Stdin.Name() {
		return err
	}
	return &failure{code: exitKey, err: err}
}

func (p passphraseSource) readAny(c console, prompt string) (*keys.Secret, error) {
	switch {
	case p.command != "":
		return readCommandLine(p.command, c)
	case p.file == "-":
		return readPassphrase(c.in, "standard input")
	case p.file != "":
		return keys.ReadPassphraseFile(p.file)
	}
	if t, ok := c.terminal(); ok {
		return t.ask(c.err, prompt)
	}
	return readPassphrase(c.in, "standard input")
}

// readNew reads a passphrase that is to be set. On a terminal it asks twice. One
// with a NUL byte is refused, as it could not be typed later: it comes from a
// file that is no text, or text in UTF-16.
func (p passphraseSource) readNew(c console, prompt string) (*keys.Secret, error) {
	first, err := p.read(c, prompt)
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(first.Bytes(), 0) >= 0 {
		first.Close()
		return nil, failf(exitKey, "give it as text in UTF-8", "the new passphrase has a NUL byte in it")
	}
	if !p.asks(c) {
		return first, nil
	}
	second, err := p.read(c, "Again: ")
	if err != nil {
		first.Close()
		return nil, err
	}
	defer second.Close()
	if !sameSecret(first, second) {
		first.Close()
		return nil, failf(exitKey, "", "the two passphrases differ")
	}
	return first, nil
}

// sameSecret compares two secrets in a time that depends on their lengths only.
func sameSecret(a, b *keys.Secret) bool {
	return subtle.ConstantTimeCompare(a.Bytes(), b.Bytes()) == 1
}

// asks reports whether the passphrase is asked for on a terminal.
func (p passphraseSource) asks(c console) bool {
	_, ok := c.terminal()
	return p == (passphraseSource{}) && ok
}

// readCommandLine returns the first line that a command prints, and ends the command
// then. One that ends by itself before that line does must have succeeded. It
// shares our standard input and error.
func readCommandLine(command string, c console) (*keys.Secret, error) {
	sh := exec.Command("/bin/sh", "-c", "--", command)
	sh.Stdin, sh.Stderr = c.in, c.err
	// What the command has started may have our standard error for longer.
	sh.WaitDelay = commandDelay
	// A group of its own can be ended as a whole. On a terminal it could not be
	// asked anything there.
	group := !hasTerminal()
	sh.SysProcAttr = &syscall.SysProcAttr{Setpgid: group}
	out, err := sh.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := sh.Start(); err != nil {
		return nil, fmt.Errorf("passphrase command: %w", err)
	}
	r := &endReader{r: out}
	secret, err := readPassphrase(r, "the passphrase command")
	if !r.ended {
		// It has a line or more than that, and nobody reads what else it prints.
		if group {
			unix.Kill(-sh.Process.Pid, unix.SIGKILL)
		}
		sh.Process.Kill()
		sh.Wait()
		return secret, err
	}
	if wait := sh.Wait(); wait != nil {
		secret.Close()
		return nil, fmt.Errorf("passphrase command: %w", wait)
	}
	return secret, err
}

// commandDelay is how long those count that a passphrase command leaves behind.
const commandDelay = time.Second

// hasTerminal reports whether the process has a controlling terminal.
func hasTerminal() bool {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// An endReader remembers that the end came.
type endReader struct {
	r     io.Reader
	ended bool
}

func (e *endReader) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	e.ended = e.ended || err == io.EOF
	return n, err
}

// readPassphrase returns the first line of r, which errors call name.
func readPassphrase(r io.Reader, name string) (*keys.Secret, error) {
	secret, err := keys.ReadPassphrase(r)
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", err, name)
	}
	return secret, nil
}
