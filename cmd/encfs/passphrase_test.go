package main

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"encfs/keys"
)

func TestPassphraseSource(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a b")
	if err := os.WriteFile(file, []byte("from file\nsecond"), 0o600); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", keys.MaxPassphraseSize)
	for _, tt := range []struct {
		name   string
		source passphraseSource
		stdin  string
		want   string
		err    string
		code   int // exitKey if it is 0
	}{
		{name: "standard input", stdin: "secret\n", want: "secret"},
		{name: "no line end", stdin: "secret", want: "secret"},
		{name: "CR LF", stdin: "secret\r\n", want: "secret"},
		{name: "blanks count", stdin: " a b \n", want: " a b "},
		{name: "not UTF-8", stdin: "\xff\xfe\n", want: "\xff\xfe"},
		{name: "as long as can be", stdin: long + "\n", want: long},
		{name: "longer", stdin: long + "x\n", err: "more than 4096 bytes"},
		{name: "no input", stdin: "", err: "empty (standard input)"},
		{name: "empty line", stdin: "\nsecond\n", err: "empty (standard input)"},
		{name: "dash", source: passphraseSource{file: "-"}, stdin: "secret\n", want: "secret"},
		{name: "file", source: passphraseSource{file: file}, want: "from file"},
		{name: "no file", source: passphraseSource{file: file + "x"}, err: "no such file", code: exitFailure},
		{name: "directory", source: passphraseSource{file: filepath.Dir(file)}, err: "is a directory", code: exitFailure},
		{name: "command", source: passphraseSource{command: `printf '%s\nmore\n' "a, 'b' -- -X"`}, want: "a, 'b' -- -X"},
		{name: "command that reads", source: passphraseSource{command: "tr a-z A-Z"}, stdin: "secret\n", want: "SECRET"},
		{name: "command that goes on", source: passphraseSource{command: "echo first; seq 100000; echo done >&2"}, want: "first"},
		{name: "command without an end", source: passphraseSource{command: "yes first"}, want: "first"},
		{name: "command that waits", source: passphraseSource{command: "echo first; sleep 1000; true"}, want: "first"},
		{name: "command that fails", source: passphraseSource{command: "printf secret; exit 3"}, err: "passphrase command: exit status 3"},
		{name: "command that prints too much", source: passphraseSource{command: "yes | tr -d '\n'"}, err: "more than 4096 bytes"},
		{name: "command with a dash", source: passphraseSource{command: "-X"}, err: "passphrase command: exit status 127"},
		{name: "command that prints nothing", source: passphraseSource{command: "true"}, err: "empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := console{in: strings.NewReader(tt.stdin), err: io.Discard}
			got, err := tt.source.read(c, "Passphrase: ")
			checkError(t, err, tt.err)
			if err != nil {
				if code, _ := classify(err); code != cmp.Or(tt.code, exitKey) {
					t.Errorf("exit code: got %d, want %d", code, cmp.Or(tt.code, exitKey))
				}
				return
			}
			defer got.Close()
			if string(got.Bytes()) != tt.want {
				t.Errorf("got %q, want %q", got.Bytes(), tt.want)
			}
		})
	}
}

// Two passphrases on standard input are read one by one, however the bytes come.
func TestTwoPassphrases(t *testing.T) {
	for name, in := range map[string]io.Reader{
		"at once":     strings.NewReader("old\nnew\n"),
		"byte-wise":   iotest.OneByteReader(strings.NewReader("old\r\nnew")),
		"with end":    iotest.DataErrReader(strings.NewReader("old\nnew")),
		"from a pipe": pipeWith(t, "old\nnew\nmore"),
	} {
		t.Run(name, func(t *testing.T) {
			c := console{in: in, err: io.Discard}
			for _, want := range []string{"old", "new"} {
				got, err := passphraseSource{}.read(c, "")
				if err != nil {
					t.Fatal(err)
				}
				if string(got.Bytes()) != want {
					t.Errorf("got %q, want %q", got.Bytes(), want)
				}
				got.Close()
			}
		})
	}
}

func pipeWith(t *testing.T, text string) *os.File {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	w.Close()
	return r
}

func TestNewPassphrase(t *testing.T) {
	for _, tt := range []struct{ name, in, err string }{
		{"plain", "secret\n", ""},
		{"NUL", "s\x00e\x00\n", "the new passphrase has a NUL byte in it"},
		{"empty", "\n", "empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var prompts bytes.Buffer
			got, err := passphraseSource{}.readNew(console{in: strings.NewReader(tt.in), err: &prompts}, "New: ")
			checkError(t, err, tt.err)
			got.Close()
			if prompts.Len() > 0 {
				t.Errorf("asks %q without a terminal", prompts.String())
			}
		})
	}
}
