package keys

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadKey(t *testing.T) {
	raw := func(n int) string { return string(pattern(n)) }
	digits := func(n int) string { return hex.EncodeToString(pattern(n)) }
	tests := []struct {
		name string
		file string
		want []string // the readings; none is an error
	}{
		{"empty", "", nil},
		{"raw 15", raw(15), nil},
		{"raw 16", raw(16), []string{raw(16)}},
		{"raw 17", raw(17), []string{raw(17)}},
		{"raw 32", raw(32), []string{raw(32)}},
		{"raw 63", raw(63), []string{raw(63)}},
		{"raw 64", raw(64), []string{raw(64)}},
		{"raw 65", raw(65), nil},
		{"raw with a line end", raw(32) + "\n", []string{raw(32) + "\n"}},
		{"raw 64 with a line end", raw(64) + "\n", nil},
		{"raw of line ends", strings.Repeat("\n", 16), []string{strings.Repeat("\n", 16)}},

		{"hex of 15", digits(15), []string{digits(15)}}, // 30 bytes: raw
		{"hex of 16", digits(16), []string{raw(16), digits(16)}},
		{"hex of 32", digits(32), []string{raw(32), digits(32)}},
		{"hex of 33", digits(33), []string{raw(33)}},
		{"hex of 64", digits(64), []string{raw(64)}},
		{"hex of 65", digits(65), nil},
		{"hex, LF", digits(64) + "\n", []string{raw(64)}},
		{"hex, CR LF", digits(64) + "\r\n", []string{raw(64)}},
		{"hex, two LF", digits(64) + "\n\n", nil},
		{"hex, CR", digits(64) + "\r", nil},
		{"hex of 32, LF", digits(32) + "\n", nil}, // below
		{"hex of 16, LF", digits(16) + "\n", []string{raw(16), digits(16) + "\n"}},
		{"capital hex", strings.ToUpper(digits(64)), []string{raw(64)}},
		{"odd number of digits", digits(64)[1:], nil},
		{"odd number of digits, short", digits(32)[1:], []string{digits(32)[1:]}},
		{"no digit at the end", digits(63) + "0g", nil},
		{"prefix", "0x" + digits(62), nil},
		{"a space before", " " + digits(64), nil},
		{"spaces between", strings.Repeat("00 ", 40), nil},
		{"more and more", strings.Repeat("0", 1<<20), nil},
	}
	for i := range tests {
		if tests[i].name == "hex of 32, LF" {
			tests[i].want = []string{raw(32)} // 65 bytes are too many for a raw key
		}
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tt.file), iotest.OneByteReader(strings.NewReader(tt.file)), iotest.DataErrReader(strings.NewReader(tt.file))} {
				readings, err := ReadKeys(r)
				if len(tt.want) == 0 {
					wantErr(t, err, ErrKeyFile)
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, s := range readings {
					got = append(got, string(s.Bytes()))
					s.Close()
				}
				if strings.Join(got, "|") != strings.Join(tt.want, "|") {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			}

			s, err := ReadKey(strings.NewReader(tt.file))
			if len(tt.want) == 0 {
				wantErr(t, err, ErrKeyFile)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if string(s.Bytes()) != tt.want[0] {
				t.Errorf("ReadKey = %q, want %q", s.Bytes(), tt.want[0])
			}
			s.Close()
		})
	}

	broken := errors.New("broken")
	_, err := ReadKeys(io.MultiReader(strings.NewReader(raw(32)), iotest.ErrReader(broken)))
	wantErr(t, err, broken)
}

func TestReadPassphrase(t *testing.T) {
	long := strings.Repeat("x", MaxPassphraseSize)
	tests := []struct {
		name string
		file string
		want string // "" is an error
		rest string // what a second line reads as
	}{
		{"empty", "", "", ""},
		{"empty line", "\n", "", ""},
		{"empty line, CR LF", "\r\n", "", ""},
		{"empty line before another", "\nsecret\n", "", "secret"},
		{"no line end", "secret", "secret", ""},
		{"LF", "secret\n", "secret", ""},
		{"CR LF", "secret\r\n", "secret", ""},
		{"CR", "secret\r", "secret", ""},
		{"second line", "old\nnew\n", "old", "new"},
		{"second line, CR LF", "old\r\nnew\r\n", "old", "new"},
		{"empty second line", "old\n\nnew\n", "old", ""},
		{"empty second line, CR LF", "old\r\n\r\nnew\r\n", "old", ""},
		{"spaces", "  a b \t\n", "  a b \t", ""},
		{"one byte", "x\n", "x", ""},
		{"NUL", "a\x00b\x00\n", "a\x00b\x00", ""},
		{"only NUL", "\x00", "\x00", ""},
		{"no UTF-8", "\xff\xfe\n", "\xff\xfe", ""},
		{"longest", long, long, ""},
		{"longest, LF", long + "\n", long, ""},
		{"longest, CR LF", long + "\r\n", long, ""},
		{"one more", long + "x", "", ""},
		{"one more, LF", long + "x\nsecond\n", "", "second"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := strings.NewReader(tt.file)
			for i, want := range []string{tt.want, tt.rest} {
				s, err := ReadPassphrase(r)
				if want == "" {
					wantErr(t, err, ErrPassphrase)
					if strings.Contains(tt.name, "one more") {
						io.Copy(io.Discard, io.LimitReader(r, 1)) // the line end
					}
					continue
				}
				if err != nil {
					t.Fatalf("line %d: %v", i+1, err)
				}
				if string(s.Bytes()) != want {
					t.Errorf("line %d: got %q, want %q", i+1, s.Bytes(), want)
				}
				s.Close()
			}
		})
	}

	broken := errors.New("broken")
	_, err := ReadPassphrase(io.MultiReader(strings.NewReader("sec"), iotest.ErrReader(broken)))
	wantErr(t, err, broken)
}

func TestReadFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(name, pattern(64), 0o600); err != nil {
		t.Fatal(err)
	}
	readings, err := ReadKeyFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(readings) != 1 || !bytes.Equal(readings[0].Bytes(), pattern(64)) {
		t.Errorf("%d readings of a raw key", len(readings))
	}
	for _, s := range readings {
		s.Close()
	}
	if err := os.WriteFile(name, []byte("first\nsecond\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := ReadPassphraseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(s.Bytes()), "first"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s.Close()

	if _, err := ReadKeyFile(name); !errors.Is(err, ErrKeyFile) || !strings.Contains(err.Error(), name) {
		t.Errorf("%v does not name the file", err)
	}
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPassphraseFile(name); !errors.Is(err, ErrPassphrase) || !strings.Contains(err.Error(), name) {
		t.Errorf("%v does not name the file", err)
	}
	_, err = ReadKeyFile(name + ".missing")
	wantErr(t, err, os.ErrNotExist)
	_, err = ReadPassphraseFile(name + ".missing")
	wantErr(t, err, os.ErrNotExist)
}

func FuzzReadKeys(f *testing.F) {
	for _, n := range []int{0, 15, 16, 32, 64, 65} {
		f.Add(pattern(n))
		f.Add([]byte(hex.EncodeToString(pattern(n))))
		f.Add([]byte(hex.EncodeToString(pattern(n)) + "\r\n"))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		readings, err := ReadKeys(bytes.NewReader(b))
		if err != nil {
			wantErr(t, err, ErrKeyFile)
			return
		}
		for _, s := range readings {
			k, err := NewMasterKey(s.Bytes())
			if err != nil {
				t.Fatalf("a key of %d bytes that is none: %v", s.Len(), err)
			}
			k.Close()
			// Each reading gives back what the file had.
			if got := s.Bytes(); !bytes.Equal(got, b) && !strings.EqualFold(hex.EncodeToString(got), strings.TrimRight(string(b), "\r\n")) {
				t.Errorf("%x is no reading of %q", got, b)
			}
			s.Close()
		}
	})
}

func FuzzReadPassphrase(f *testing.F) {
	for _, s := range []string{"", "\n", "\r\n", "a", "a\n", "a\r\nb\n", "a\rb", "\x00\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		want := b
		if i := bytes.IndexAny(b, "\r\n"); i >= 0 {
			want = b[:i]
		}
		s, err := ReadPassphrase(bytes.NewReader(b))
		if len(want) == 0 || len(want) > MaxPassphraseSize {
			wantErr(t, err, ErrPassphrase)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(s.Bytes(), want) {
			t.Errorf("got %q, want %q", s.Bytes(), want)
		}
		s.Close()
	})
}
