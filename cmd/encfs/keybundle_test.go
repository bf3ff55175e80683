package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// bundleOf returns the bundle of a directory, and its file.
func bundleOf(t *testing.T, d protectorDir) (*keyBundle, []byte) {
	t.Helper()
	b, err := newKeyBundle(d.path, metadataPlace{})
	if err != nil {
		t.Fatal(err)
	}
	return b, bundleFile(t, b)
}

func bundleFile(t *testing.T, b *keyBundle) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := b.write(&file, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// What is read of a file that was damaged anywhere is what was written, or an error.
func TestKeyBundleDamage(t *testing.T) {
	d := newProtectorDir(t)
	d.add("second")
	_, file := bundleOf(t, d)
	same := func(damaged []byte) (error, bool) {
		b, err := readKeyBundle(bytes.NewReader(damaged))
		if err != nil {
			return err, errors.Is(err, errBundle)
		}
		return nil, bytes.Equal(bundleFile(t, b), file)
	}
	if err, ok := same(file); err != nil || !ok {
		t.Fatalf("sound: error %v, the same: %v", err, ok)
	}
	refused := 0
	for i := range file {
		damaged := bytes.Clone(file)
		damaged[i] ^= 1 << (i % 8)
		err, ok := same(damaged)
		if !ok {
			t.Fatalf("byte %d changed: error %v", i, err)
		}
		if err != nil {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no damage was found")
	}
	end := len(bytes.TrimRight(file, "\x00"))
	for n := 0; n < end; n += 97 {
		if err, ok := same(file[:n]); err == nil || !ok {
			t.Errorf("%d bytes of %d: error %v", n, len(file), err)
		}
	}
}

// A kill while a directory is restored leaves one that is restored the next time.
func TestKeyRestoreKilled(t *testing.T) {
	strace := needStrace(t)
	encfs, err := exec.LookPath("encfs")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ call, folder string }{
		{"mkdirat", ""},
		{"mkdirat", ".fscrypt"},
		{"renameat", ".fscrypt/protectors"},
		{"fsync", ".fscrypt/protectors"},
		{"renameat", ".fscrypt/policies"},
		{"fsync", ".fscrypt/policies"},
		{"renameat", ""},
		{"fsync", ""},
	} {
		t.Run(tt.call+" "+tt.folder, func(t *testing.T) {
			d := newProtectorDir(t)
			b, file := bundleOf(t, d)
			backup := filepath.Join(d.top, "backup")
			if err := os.WriteFile(backup, file, 0o600); err != nil {
				t.Fatal(err)
			}
			top, err := filepath.EvalSymlinks(d.path)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{".fscrypt", headerName} {
				if err := os.RemoveAll(filepath.Join(top, name)); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(strace, "-f", "-o", "/dev/null", "-P", filepath.Join(top, tt.folder),
				"-e", "trace="+tt.call, "-e", "inject="+tt.call+":signal=KILL", encfs, "key", "restore", backup, d.path)
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Fatalf("it was not killed: %s", out)
			}
			d.must("key", "restore", backup, d.path)
			if !d.opens("first") {
				t.Error("it is not restored")
			}
			again, err := newKeyBundle(d.path, metadataPlace{})
			if err != nil || !bytes.Equal(bundleFile(t, again), bundleFile(t, b)) {
				t.Errorf("it is another one, %v", err)
			}
		})
	}
}

// A header is replaced if it, or the copy of it, tells that it was the bundle's, or if
// there is nothing to be lost.
func TestKeyRestoreHeader(t *testing.T) {
	d := newProtectorDir(t)
	b, _ := bundleOf(t, d)
	changed := func(at int) []byte {
		h := bytes.Clone(b.header)
		h[at] ^= 1
		return h
	}
	const version, nonce, tag = 8, 16 + 24, 64 // offsets in a header
	for _, tt := range []struct {
		name         string
		file, copied []byte // nil for none
		force        bool
		needs        bool
		err          string
	}{
		{"both sound", b.header, b.header, false, false, ""},
		{"no copy", b.header, nil, false, true, ""},
		{"no file", nil, b.header, false, true, ""},
		{"neither", nil, nil, false, true, ""},
		{"damaged tag", changed(tag), nil, false, true, ""},
		{"damaged tag of the copy", b.header, changed(tag), false, true, ""},
		{"damaged file", b.header[:100], nil, false, true, ""},
		{"other nonce, sound copy", changed(nonce), b.header, false, true, ""},
		{"other nonce", changed(nonce), nil, false, false, "has another header than the backup"},
		{"other nonce in both", changed(nonce), changed(nonce), false, false, "has another header than the backup"},
		{"other nonce in the copy", nil, changed(nonce), false, false, "has another header than the backup"},
		{"other nonce, by force", changed(nonce), changed(nonce), true, true, ""},
		{"newer version", changed(version), nil, false, false, "format version"},
		{"newer version, by force", changed(version), nil, true, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const attribute = "user.encfs.dir"
			name := filepath.Join(d.path, headerName)
			err := unix.Setxattr(d.path, attribute, tt.copied, 0)
			if errors.Is(err, unix.ENOTSUP) {
				t.Skip("no extended attributes here")
			}
			if tt.copied == nil {
				err = errors.Join(err, unix.Removexattr(d.path, attribute))
			}
			if err = errors.Join(err, os.RemoveAll(name)); tt.file != nil {
				err = errors.Join(err, os.WriteFile(name, tt.file, 0o600))
			}
			if err != nil {
				t.Fatal(err)
			}
			needs, err := b.checkRoot(d.path, tt.force)
			checkError(t, err, tt.err)
			if needs != tt.needs {
				t.Errorf("needs a header: %v, want %v", needs, tt.needs)
			}
		})
	}
}
