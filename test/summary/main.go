// Command summary reads the output of "go test -json" from standard input and
// writes what plain "go test" would have written, followed by the names of the
// skipped tests and by counts. A skipped test is a fact about the machine that
// the plain output hides.
//
// It exits with status 1 if a test or a package failed or if the input
// contains no package at all.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// event is one line of the input, as "go doc test2json" and "go help
// buildjson" describe it.
type event struct {
	Action     string
	Package    string
	ImportPath string // of build-output
	Test       string
	Output     string
}

// A test is named by its package and its name within it; the name is empty
// for what concerns the package.
type test struct{ pkg, name string }

type summary struct {
	w              io.Writer
	output         map[test]*strings.Builder // of tests that have not ended
	skipped        []string                  // "package: test: reason"
	passed, failed int                       // tests
	packages       int
	broken         int // packages that failed
}

func main() {
	ok, err := run(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "summary:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// run copies r to w in plain form and reports whether something was tested and
// nothing failed. Lines that are not JSON are copied as they are.
func run(r io.Reader, w io.Writer) (bool, error) {
	s := &summary{w: w, output: map[test]*strings.Builder{}}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
				s.add(e)
			} else {
				io.WriteString(w, line)
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return false, err
		}
	}
	s.finish()
	return s.packages > 0 && s.failed == 0 && s.broken == 0, nil
}

func (s *summary) add(e event) {
	t := test{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		io.WriteString(s.w, e.Output)
	case "output":
		if e.Test == "" {
			// The verdict of a package that passed precedes its "ok" line and
			// does not appear without -v.
			if e.Output != "PASS\n" {
				io.WriteString(s.w, e.Output)
			}
			return
		}
		if strings.HasPrefix(e.Output, "=== ") {
			return // that a test begins or goes on, which -v would show
		}
		if s.output[t] == nil {
			s.output[t] = new(strings.Builder)
		}
		s.output[t].WriteString(e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			s.packages++
			if e.Action == "fail" {
				s.broken++
			}
			s.flush(e.Package)
			return
		}
		s.end(t, e.Action)
	}
}

func (s *summary) end(t test, action string) {
	out := ""
	if b := s.output[t]; b != nil {
		out = b.String()
		delete(s.output, t)
	}
	switch action {
	case "pass":
		s.passed++
	case "fail":
		s.failed++
		io.WriteString(s.w, out)
	case "skip":
		s.skipped = append(s.skipped, fmt.Sprintf("%s: %s: %s", t.pkg, t.name, reason(out)))
	}
}

// flush writes the output of the tests of a package that never ended, as when
// the test binary panics or runs out of time.
func (s *summary) flush(pkg string) {
	for t, b := range s.output {
		if t.pkg == pkg {
			io.WriteString(s.w, b.String())
			delete(s.output, t)
		}
	}
}

func (s *summary) finish() {
	if len(s.skipped) > 0 {
		fmt.Fprintf(s.w, "\nSkipped tests:\n")
		for _, line := range s.skipped {
			fmt.Fprintf(s.w, "  %s\n", line)
		}
	}
	fmt.Fprintf(s.w, "\n%d passed, %d failed, %d skipped\n", s.passed, s.failed, len(s.skipped))
}

// reason returns what a skipped test logged last: the text after the position
// "file.go:12: ", its lines joined by spaces.
func reason(output string) string {
	text := ""
	for _, line := range strings.Split(output, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || strings.HasPrefix(trimmed, "--- SKIP"):
		case hasPosition(trimmed):
			_, text, _ = strings.Cut(trimmed, ": ")
		case text != "":
			text += " " + trimmed
		}
	}
	if text == "" {
		return "no reason given"
	}
	return text
}

// hasPosition reports whether a line begins with "file.go:12: ".
func hasPosition(line string) bool {
	position, _, ok := strings.Cut(line, ": ")
	return ok && strings.Contains(position, ".go:") && !strings.Contains(position, " ")
}
