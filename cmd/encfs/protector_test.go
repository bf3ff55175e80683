package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A protectorDir is a cipher directory whose protectors a test changes.
type protectorDir struct {
	t         *testing.T
	top, path string
}

// fastCosts are for passphrases that cost nothing.
var fastCosts = []string{"--argon2-time", "1", "--argon2-memory", "64KiB", "--argon2-parallelism", "1"}

// newProtectorDir makes one that the passphrase "first" opens.
func newProtectorDir(t *testing.T) protectorDir {
	t.Helper()
	top := t.TempDir()
	d := protectorDir{t, top, filepath.Join(top, "secret")}
	d.must(append([]string{"init", "--passfile", d.file("first"), d.path}, fastCosts...)...)
	return d
}

// file returns a file with a passphrase on its first line.
func (d protectorDir) file(passphrase string) string {
	d.t.Helper()
	name := filepath.Join(d.top, passphrase)
	if err := os.WriteFile(name, []byte(passphrase+"\n"), 0o600); err != nil {
		d.t.Error(err)
	}
	return name
}

// run runs encfs and returns its exit code and what it prints.
func (d protectorDir) run(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func (d protectorDir) must(args ...string) string {
	d.t.Helper()
	code, out, errs := d.run(args...)
	if code != exitDone {
		d.t.Fatalf("encfs %s: exit code %d: %s", strings.Join(args, " "), code, errs)
	}
	return out
}

// add adds a passphrase and returns its protector's ID.
func (d protectorDir) add(passphrase string) string {
	d.t.Helper()
	return strings.Fields(d.must(d.addArgs(passphrase)...))[1]
}

func (d protectorDir) addArgs(passphrase string) []string {
	return append([]string{"protector", "add", "--passfile", d.file("first"), "--new-passfile", d.file(passphrase), d.path}, fastCosts...)
}

// opens reports whether a passphrase opens the directory.
func (d protectorDir) opens(passphrase string) bool {
	d.t.Helper()
	code, _, errs := d.run("ls", "--passfile", d.file(passphrase), d.path)
	if code != exitDone && code != exitKey && code != exitMetadata {
		d.t.Errorf("ls: exit code %d: %s", code, errs)
	}
	return code == exitDone
}

// On a terminal the old passphrase is asked for once and the new one twice.
func TestProtectorTerminal(t *testing.T) {
	for _, tt := range []struct {
		name    string
		args    func(d protectorDir, id string) []string
		answers []string
		prompts string
		code    int
	}{
		{"add", addOnTerminal, []string{"first", "third", "third"}, "Passphrase: \r\nNew passphrase: \r\nAgain: \r\n", exitDone},
		{"add, differing", addOnTerminal, []string{"first", "third", "fourth"}, "Passphrase: \r\nNew passphrase: \r\nAgain: \r\n", exitKey},
		{"add, wrong", addOnTerminal, []string{"wrong"}, "Passphrase: \r\n", exitKey},
		{"change", changeOnTerminal, []string{"second", "third", "third"}, "Old passphrase: \r\nNew passphrase: \r\nAgain: \r\n", exitDone},
		{"change, of another", changeOnTerminal, []string{"first"}, "Old passphrase: \r\n", exitKey},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newProtectorDir(t)
			id := d.add("second")
			outside, inside := openTerminal(t)
			shown := answerPrompts(outside, tt.answers...)
			cmd := newRootCommand()
			cmd.SetArgs(tt.args(d, id))
			cmd.SetIn(inside)
			cmd.SetOut(io.Discard)
			cmd.SetErr(inside)
			err := cmd.Execute()
			if code := report(io.Discard, err); code != tt.code {
				t.Errorf("exit code %d, want %d: %v", code, tt.code, err)
			}
			inside.Close()
			if got := <-shown; !strings.HasPrefix(got, tt.prompts) {
				t.Errorf("shown:\n got %q\nwant %q", got, tt.prompts)
			}
			if got, want := d.opens("third"), tt.code == exitDone; got != want {
				t.Errorf("the new passphrase opens: %v, want %v", got, want)
			}
			if !d.opens("first") {
				t.Error("the first passphrase is lost")
			}
		})
	}
}

func addOnTerminal(d protectorDir, _ string) []string {
	return append([]string{"protector", "add", d.path}, fastCosts...)
}

func changeOnTerminal(d protectorDir, id string) []string {
	return []string{"protector", "change", d.path, id}
}

// Of several who add protectors at the same time none loses another's.
func TestProtectorRace(t *testing.T) {
	d := newProtectorDir(t)
	gone := d.add("gone")
	const adders = 4
	var args [adders][]string // made before anyone reads the files
	for i := range args {
		args[i] = d.addArgs(fmt.Sprint("new", i))
	}
	var all sync.WaitGroup
	for i := range args {
		all.Go(func() {
			if code, _, errs := d.run(args[i]...); code != exitDone {
				t.Errorf("add: exit code %d: %s", code, errs)
			}
		})
	}
	all.Go(func() {
		if code, _, errs := d.run("protector", "remove", d.path, gone); code != exitDone {
			t.Errorf("remove: exit code %d: %s", code, errs)
		}
	})
	all.Wait()
	for i := range adders {
		if !d.opens(fmt.Sprint("new", i)) {
			t.Errorf("passphrase %d is lost", i)
		}
	}
	if d.opens("gone") {
		t.Error("what was removed still opens")
	}
	var list []listedProtector
	if err := json.Unmarshal([]byte(d.must("protector", "list", "--json", d.path)), &list); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, p := range list {
		names[p.Name] = true
	}
	if want := 1 + adders; len(list) != want || len(names) != want {
		t.Errorf("%d protectors with %d names, want %d", len(list), len(names), want)
	}
}

// needStrace returns the path of strace, which kills a program at a system call.
func needStrace(t *testing.T) string {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace")
	}
	if out, err := exec.Command(strace, "-o", "/dev/null", "true").CombinedOutput(); err != nil {
		t.Skipf("strace cannot trace: %v, %s", err, out)
	}
	return strace
}

// A kill at any step of a change leaves the old state or the new one, and the next
// change works.
func TestProtectorKilled(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root: what descriptors of a process that hides its memory are of, strace cannot tell")
	}
	strace := needStrace(t)
	const opened, closed = true, false
	add := func(d protectorDir, _ string) []string { return d.addArgs("third") }
	change := func(d protectorDir, id string) []string {
		return []string{"protector", "change", "--passfile", d.file("second"), "--new-passfile", d.file("third"), d.path, id}
	}
	passwd := func(d protectorDir, _ string) []string {
		return []string{"passwd", "--passfile", d.file("second"), "--new-passfile", d.file("third"), d.path}
	}
	remove := func(d protectorDir, id string) []string { return []string{"protector", "remove", d.path, id} }
	for _, tt := range []struct {
		name          string
		args          func(d protectorDir, id string) []string
		call, folder  string // the system call that is not made any more, and where
		second, third bool   // which passphrase opens then
	}{
		{"add before the protector", add, "renameat", "protectors", opened, closed},
		{"add after the protector", add, "fsync", "protectors", opened, closed},
		{"add before the policy", add, "renameat", "policies", opened, closed},
		{"add after the policy", add, "fsync", "policies", opened, opened},
		{"change before the protector", change, "renameat", "protectors", opened, closed},
		{"change after the protector", change, "fsync", "protectors", closed, opened},
		{"passwd before the protector", passwd, "renameat", "protectors", opened, closed},
		{"passwd after the protector", passwd, "fsync", "protectors", closed, opened},
		{"remove before the policy", remove, "renameat", "policies", opened, closed},
		{"remove after the policy", remove, "fsync", "policies", closed, closed},
		{"remove before the protector", remove, "unlinkat", "protectors", closed, closed},
		{"remove after the protector", remove, "fsync", "protectors", closed, closed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newProtectorDir(t)
			id := d.add("second")
			encfs, err := exec.LookPath("encfs")
			if err != nil {
				t.Fatal(err)
			}
			folder, err := filepath.EvalSymlinks(filepath.Join(d.path, ".fscrypt", tt.folder))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(strace, append([]string{
				"-f", "-o", "/dev/null", "-P", folder, "-e", "trace=" + tt.call,
				"-e", "inject=" + tt.call + ":signal=KILL", encfs,
			}, tt.args(d, id)...)...)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatalf("it was not killed: %s", out)
			}
			if !d.opens("first") {
				t.Error("another passphrase is lost")
			}
			if got := d.opens("second"); got != tt.second {
				t.Errorf("the old passphrase opens: %v, want %v", got, tt.second)
			}
			if got := d.opens("third"); got != tt.third {
				t.Errorf("the new passphrase opens: %v, want %v", got, tt.third)
			}
			d.must("protector", "list", d.path)
			d.add("fourth")
			if !d.opens("fourth") {
				t.Error("the next change is lost")
			}
		})
	}
}
