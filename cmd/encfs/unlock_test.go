package main

import (
	"bytes"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestKeyFlagsCheck(t *testing.T) {
	file, command := passphraseSource{file: "f"}, passphraseSource{command: "c"}
	both := keyFlags{passphrase: passphraseSource{file: "f", command: "c"}}
	for _, tt := range []struct {
		name  string
		k     keyFlags
		err   string // for a cipher directory
		image string // for an image
	}{
		{"none", keyFlags{}, "", ""},
		{"passfile", keyFlags{passphrase: file}, "", ""},
		{"extpass", keyFlags{passphrase: command, protector: "p", metadata: "m"}, "", ""},
		{"key files", keyFlags{keyFiles: []string{"a", "b"}}, "", ""},
		{"locked", keyFlags{locked: true}, "", ""},
		{"passfile and extpass", both, "--passfile and --extpass: give one of them", "--passfile and --extpass: give one of them"},
		{"passfile and key file", keyFlags{passphrase: file, keyFiles: []string{"a"}}, "--passfile and --key-file: give one of them", ""},
		{"extpass and key files", keyFlags{passphrase: command, keyFiles: []string{"a", "b"}}, "--extpass and --key-file: give one of them", ""},
		{"extpass and locked", keyFlags{passphrase: command, locked: true}, "--extpass and --locked: give one of them", "--extpass and --locked: give one of them"},
		{"key file and locked", keyFlags{keyFiles: []string{"a"}, locked: true}, "--key-file and --locked: give one of them", "--key-file and --locked: give one of them"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkError(t, tt.k.check(), tt.err)
			checkError(t, tt.k.checkImage(), tt.image)
		})
	}
}

func TestPassfileTwice(t *testing.T) {
	k := keyFlags{passphrase: passphraseSource{file: "a"}}
	checkError(t, k.addOptions(mountOptions{passfile: "b"}), "--passfile and -o passfile: give one of them")
}

// The raw master key opens a cipher directory whose key metadata are lost, as bytes
// and in hexadecimal.
func TestMasterKeyFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "secret")
	passfile := filepath.Join(t.TempDir(), "pass")
	if err := os.WriteFile(passfile, []byte("correct horse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := console{in: strings.NewReader(""), err: io.Discard}
	cheap := []string{"--argon2-time", "1", "--argon2-memory", "64KiB", "--argon2-parallelism", "1"}
	if code := run(append([]string{"init", "--passfile", passfile, dir}, cheap...), c.in, io.Discard, c.err); code != 0 {
		t.Fatalf("init: exit code %d", code)
	}
	mk, err := unlockSource(dir, &keyFlags{passphrase: passphraseSource{file: passfile}}, c)
	if err != nil {
		t.Fatal(err)
	}
	defer mk.Close()
	raw, err := mk.Raw()
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if err := os.RemoveAll(filepath.Join(dir, ".fscrypt")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, contents string
		code           int
	}{
		{"bytes", string(raw.Bytes()), exitDone},
		{"hexadecimal", hex.EncodeToString(raw.Bytes()) + "\n", exitDone},
		{"another key", strings.Repeat("x", raw.Len()), exitKey},
		{"perhaps of a protector", strings.Repeat("x", rawKeySize), exitMetadata},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "key")
			if err := os.WriteFile(file, []byte(tt.contents), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			if code := run([]string{"ls", "--key-file", file, dir}, c.in, &out, &errs); code != tt.code {
				t.Errorf("exit code: got %d, want %d: %s", code, tt.code, errs.String())
			}
		})
	}
}
