package test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// shellBlock is a fenced block of shell in a document.
var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// TestREADME runs what the README shows, in one shell: the first block, which
// installs, in the root of the repository, the second in an empty folder.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := shellBlock.FindAllSubmatch(readme, -1)
	if len(blocks) != 2 {
		t.Fatalf("the README has %d blocks of shell, want 2: install and use", len(blocks))
	}
	needFUSE(t)
	needTool(t, "bash")
	needTool(t, "make")

	home := t.TempDir()
	environ := append(os.Environ(), "HOME="+home)
	// The caches of Go lie below HOME unless they are named.
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		environ = append(environ, name+"="+strings.TrimSpace(string(value)))
	}
	dir := tempDir(t)
	t.Cleanup(func() { // only does something if the script stopped between mount and umount
		exec.Command(home+"/.local/bin/encfs", "umount", "--lazy", dir+"/plain").Run()
	})
	// init, mount and cat each ask once where there is no terminal.
	script := fmt.Sprintf("%scd '%s'\n%s", blocks[0][1], dir, blocks[1][1])
	cmd := exec.Command("bash", "-eu", "-c", script)
	cmd.Dir, cmd.Env = "..", environ
	cmd.Stdin = strings.NewReader(strings.Repeat("correct horse battery\n", 3))
	var output, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &messages
	err = cmd.Run()
	out := output.String()
	t.Logf("%s%s%s", script, out, messages.String())
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 11 {
		t.Skip("no FUSE: encfs mount exited with 11")
	}
	if err != nil {
		t.Fatal(err)
	}
	const note = "for my eyes only\n"
	if !strings.HasSuffix(out, note) {
		t.Errorf("output %q does not end with the note %q", out, note)
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "plain")); err != nil || len(entries) > 0 {
		t.Errorf("after umount plain has %v, %v; want it empty", entries, err)
	}
	files := 0
	err = filepath.WalkDir(filepath.Join(dir, "secret"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte("for my eyes")) || strings.Contains(path, "note") {
			t.Errorf("%s shows the note or its name", path)
		}
		return err
	})
	if err != nil || files < 3 {
		t.Errorf("secret has %d files, %v; want the root's header, the note and .fscrypt/", files, err)
	}
}
