package metadata

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"encfs/keys"
)

// files returns the folder that the fscrypt tool wrote, by names within it.
func (c toolCase) files() map[string][]byte {
	files := map[string][]byte{}
	for _, p := range c.Protectors {
		if p.LinkedFrom != "" {
			files["protectors/"+p.Descriptor+".link"] = []byte(p.LinkedFrom)
		} else {
			files["protectors/"+p.Descriptor] = p.File
		}
	}
	for _, p := range c.Policies {
		files["policies/"+p.Name] = p.File
	}
	return files
}

// home returns the folder that has the linked protectors.
func (c toolCase) home() map[string][]byte {
	files := map[string][]byte{}
	for _, p := range c.Protectors {
		if p.LinkedFrom != "" {
			files["protectors/"+p.Descriptor] = p.File
		}
	}
	return files
}

// writeFolder makes a .fscrypt folder in a new directory, which it returns.
func writeFolder(t *testing.T, files map[string][]byte) string {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{policiesDir, protectorsDir} {
		if err := os.MkdirAll(filepath.Join(root, FolderName, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(root, FolderName, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func openRoot(t *testing.T, name string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func openDir(t *testing.T, root string) *Dir {
	t.Helper()
	d, err := Open(openRoot(t, root), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func openMapFS(t *testing.T, files map[string][]byte) *Dir {
	t.Helper()
	m := fstest.MapFS{policiesDir: {Mode: fs.ModeDir | 0o755}, protectorsDir: {Mode: fs.ModeDir | 0o755}}
	for name, b := range files {
		m[name] = &fstest.MapFile{Data: b, Mode: 0o600}
	}
	d, err := OpenFS(m)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Every folder of the fscrypt tool opens with its secrets, from a directory and
// from an image.
func TestToolFolders(t *testing.T) {
	for _, c := range toolCases(t) {
		for from, open := range map[string]func(map[string][]byte) *Dir{
			"directory": func(files map[string][]byte) *Dir { return openDir(t, writeFolder(t, files)) },
			"image":     func(files map[string][]byte) *Dir { return openMapFS(t, files) },
		} {
			t.Run(c.Image+" "+from, func(t *testing.T) {
				d, home := open(c.files()), open(c.home())
				protectors, err := d.Protectors(home)
				if err != nil {
					t.Fatal(err)
				}
				if len(protectors) != len(c.Protectors) {
					t.Errorf("%d protectors, want %d", len(protectors), len(c.Protectors))
				}
				policies, err := d.Policies()
				if err != nil {
					t.Fatal(err)
				}
				if len(policies) != len(c.Policies) {
					t.Errorf("%d policies, want %d", len(policies), len(c.Policies))
				}
				for _, policy := range policies {
					for _, v := range c.Protectors {
						if !slices.Contains(policy.Protectors(), v.Descriptor) {
							continue
						}
						p, err := d.Protector(v.Descriptor, home)
						if err != nil {
							t.Fatal(err)
						}
						key, err := p.Unlock(v.secret(t))
						if err != nil {
							t.Fatal(err)
						}
						master, err := policy.Unlock(v.Descriptor, key)
						if err != nil {
							t.Fatal(err)
						}
						if name := keyName(master, policy.Options().Version); name != policy.Name() {
							t.Errorf("master key %s, want %s", name, policy.Name())
						}
						master.Close()
						key.Close()
					}
				}
			})
		}
	}
}

func TestLinks(t *testing.T) {
	c := toolCaseOf(t, "tool-linked")
	d, home := openMapFS(t, c.files()), openMapFS(t, c.home())
	i := slices.IndexFunc(c.Protectors, func(p toolProtector) bool { return p.LinkedFrom != "" })
	linked := c.Protectors[i].Descriptor
	want := Link{UUID: "1a3a5041-d73d-4256-a6c8-6ed2807d861b", Path: "/mnt/fixture-home"}

	if got, err := d.Link(linked); err != nil || got != want {
		t.Errorf("Link = %v, %v, want %v", got, err, want)
	}
	_, err := d.Protector(linked)
	wantErr(t, err, ErrMissing)
	var le *LinkError
	if !errors.As(err, &le) || le.Link != want || le.Descriptor != linked {
		t.Errorf("Protector: %v, want a LinkError with %v", err, want)
	}
	list, err := d.Protectors()
	if len(list) != len(c.Protectors)-1 || !errors.As(err, &le) {
		t.Errorf("Protectors = %d of %d, %v", len(list), len(c.Protectors), err)
	}
	// Not in the first of the others, but in the second.
	if p, err := d.Protector(linked, openMapFS(t, nil), home); err != nil || p.Descriptor() != linked {
		t.Errorf("Protector with others: %v, %v", p, err)
	}
	// Without a link too: the policy names it.
	if p, err := openMapFS(t, nil).Protector(linked, home); err != nil || p.Descriptor() != linked {
		t.Errorf("Protector without a link: %v, %v", p, err)
	}
	// A link beside the protector itself is not a second one.
	files := c.home()
	files["protectors/"+linked+linkSuffix] = []byte("PATH=/\n")
	if list, err := openMapFS(t, files).Protectors(); err != nil || len(list) != 1 {
		t.Errorf("Protectors = %d, %v, want 1", len(list), err)
	}
}

func TestParseLink(t *testing.T) {
	tests := []struct {
		name, file string
		want       Link // zero is an error
	}{
		{"both", "UUID=ab-cd\nPATH=/mnt\n", Link{"ab-cd", "/mnt"}},
		{"no line end", "UUID=ab-cd\nPATH=/mnt", Link{"ab-cd", "/mnt"}},
		{"UUID alone, as in old versions", "UUID=ab-cd", Link{UUID: "ab-cd"}},
		{"PATH alone", "PATH=/mnt\n", Link{Path: "/mnt"}},
		{"capital UUID", "UUID=AB-CD\n", Link{UUID: "ab-cd"}},
		{"other keys and lines", "LABEL=x\n\nx\nPATH=/mnt\n", Link{Path: "/mnt"}},
		{"= in a path", "PATH=/a=b\n", Link{Path: "/a=b"}},
		{"CR LF", "PATH=/mnt\r\n", Link{Path: "/mnt"}},
		{"empty", "", Link{}},
		{"empty values", "UUID=\nPATH=\n", Link{}},
		{"lower-case key", "path=/mnt\n", Link{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseLink([]byte(tt.file))
			if tt.want == (Link{}) {
				wantErr(t, err, ErrDamaged)
			} else if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// What is in the way of one file does not hide the others, and is named.
func TestStrangeFiles(t *testing.T) {
	c := toolCaseOf(t, "tool-two-protectors")
	good := c.files()
	policy, protector := c.Policies[0], c.Protectors[0]
	const other = "0123456789abcdef"
	outside := filepath.Join(t.TempDir(), other)
	if err := os.WriteFile(outside, protector.File, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		file    string // within the folder
		make    func(path string) error
		ignored bool // not an error: it is not ours
	}{
		{"empty file", "protectors/" + other, func(p string) error { return os.WriteFile(p, nil, 0o600) }, false},
		{"copy of another protector", "protectors/" + other, func(p string) error { return os.WriteFile(p, protector.File, 0o600) }, false},
		{"copy of another policy", "policies/" + other, func(p string) error { return os.WriteFile(p, policy.File, 0o600) }, false},
		{"no protobuf", "policies/" + other + other, func(p string) error { return os.WriteFile(p, []byte("\xff\xff\xff"), 0o600) }, false},
		{"too large", "protectors/" + other, func(p string) error { return os.WriteFile(p, make([]byte, MaxFileSize+1), 0o600) }, false},
		{"directory", "protectors/" + other, func(p string) error { return os.Mkdir(p, 0o755) }, false},
		{"FIFO", "protectors/" + other, func(p string) error { return syscall.Mkfifo(p, 0o600) }, false},
		{"symbolic link within", "protectors/" + other, func(p string) error { return os.Symlink(protector.Descriptor, p) }, false},
		{"symbolic link out", "protectors/" + other, func(p string) error { return os.Symlink(outside, p) }, false},
		{"dangling symbolic link", "policies/" + other, func(p string) error { return os.Symlink("nowhere", p) }, false},
		{"link file without a place", "protectors/" + other + linkSuffix, func(p string) error { return os.WriteFile(p, nil, 0o600) }, false},
		{"leftover of a write", "protectors/" + tempPrefix + other, func(p string) error { return os.WriteFile(p, nil, 0o600) }, true},
		{"leftover of a write of a policy", "policies/" + tempPrefix + other, func(p string) error { return os.WriteFile(p, nil, 0o600) }, true},
		{"capital digits", "protectors/0123456789ABCDEF", func(p string) error { return os.WriteFile(p, protector.File, 0o600) }, true},
		{"sync conflict", "protectors/" + protector.Descriptor + " (conflicted copy)", func(p string) error { return os.WriteFile(p, protector.File, 0o600) }, true},
		{"link of a policy", "policies/" + other + linkSuffix, func(p string) error { return os.WriteFile(p, nil, 0o600) }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := writeFolder(t, good)
			if err := tt.make(filepath.Join(root, FolderName, tt.file)); err != nil {
				t.Fatal(err)
			}
			d := openDir(t, root)
			protectors, err1 := d.Protectors()
			policies, err2 := d.Policies()
			if len(protectors) != len(c.Protectors) || len(policies) != len(c.Policies) {
				t.Errorf("%d protectors and %d policies, want %d and %d", len(protectors), len(policies), len(c.Protectors), len(c.Policies))
			}
			err := errors.Join(err1, err2)
			if tt.ignored {
				if err != nil {
					t.Errorf("error %v", err)
				}
				return
			}
			wantErr(t, err, ErrDamaged)
			var fe *FileError
			if !errors.As(err, &fe) || fe.Name != tt.file {
				t.Errorf("%v does not name %s", err, tt.file)
			}
		})
	}
}

// A name that is none never becomes a path.
func TestHostileNames(t *testing.T) {
	d := openDir(t, writeFolder(t, toolCaseOf(t, "tool-v1").files()))
	for _, name := range []string{"", ".", "..", "../policies", "/etc/passwd", "0123456789abcde", "../../../../../a", "0123456789abcdeF", ".tmp0123456789ab"} {
		_, err := d.Protector(name)
		wantErr(t, err, ErrMissing)
		_, err = d.Policy(name)
		wantErr(t, err, ErrMissing)
		_, err = d.Link(name)
		wantErr(t, err, ErrMissing)
		wantErr(t, d.RemoveProtector(name), ErrMissing)
		wantErr(t, d.RemovePolicy(name), ErrMissing)
	}
}

func TestOpenRefuses(t *testing.T) {
	c := toolCaseOf(t, "tool-v1")
	elsewhere := filepath.Join(writeFolder(t, c.files()), FolderName)

	empty := t.TempDir()
	_, err := Open(openRoot(t, empty), true)
	wantErr(t, err, ErrMissing)
	_, err = OpenFolder(filepath.Join(empty, FolderName))
	wantErr(t, err, ErrMissing)

	file := t.TempDir()
	if err := os.WriteFile(filepath.Join(file, FolderName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(openRoot(t, file), true)
	wantErr(t, err, ErrDamaged)
	_, err = OpenFolder(filepath.Join(file, FolderName))
	wantErr(t, err, ErrDamaged)

	for _, target := range []string{elsewhere, "relative"} {
		t.Run("symbolic link to "+filepath.Base(target), func(t *testing.T) {
			dir := t.TempDir()
			if target == "relative" {
				if err := os.CopyFS(filepath.Join(dir, target), os.DirFS(elsewhere)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(target, filepath.Join(dir, FolderName)); err != nil {
				t.Fatal(err)
			}
			root := openRoot(t, dir)
			_, err := Open(root, false)
			wantErr(t, err, ErrDamaged)
			_, err = Create(root)
			if err == nil {
				t.Error("Create goes through a symbolic link")
			}
			d, err := Open(root, true)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if list, err := d.Policies(); err != nil || len(list) != 1 {
				t.Errorf("%d policies, %v, want 1", len(list), err)
			}
		})
	}

	for _, missing := range []string{policiesDir, protectorsDir} {
		root := writeFolder(t, nil)
		name := filepath.Join(root, FolderName, missing)
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		_, err := Open(openRoot(t, root), false)
		wantErr(t, err, ErrMissing)
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = Open(openRoot(t, root), false)
		wantErr(t, err, ErrDamaged)
		var fe *FileError
		if !errors.As(err, &fe) || fe.Name != missing {
			t.Errorf("%v does not name %s", err, missing)
		}
	}
}

// list returns all paths below a directory.
func list(t *testing.T, dir string) map[string]fs.FileMode {
	t.Helper()
	paths := map[string]fs.FileMode{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		rel, _ := filepath.Rel(dir, path)
		paths[rel] = info.Mode()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	delete(paths, ".")
	return paths
}

func TestCreateAndWrite(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	top := t.TempDir()
	root := openRoot(t, top)
	d, err := Create(root)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	passphrase, raw := newSecret(t, []byte("correct horse")), newSecret(t, pattern(32))
	p1, k1, err := NewPassphraseProtector("mine", passphrase, Costs{1, 64, 2})
	if err != nil {
		t.Fatal(err)
	}
	defer k1.Close()
	p2, k2, err := NewRawKeyProtector("backup", raw)
	if err != nil {
		t.Fatal(err)
	}
	defer k2.Close()
	master := newMasterKey(t, pattern(64))
	o := Options{Padding: 32, Contents: keys.AES256XTS, Filenames: keys.AES256CTS, Version: 2}
	policy, err := NewPolicy(master, o, k1, k2)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time replaces
		if err := errors.Join(d.WriteProtector(p1), d.WriteProtector(p2), d.WritePolicy(policy)); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]fs.FileMode{
		".fscrypt":                               fs.ModeDir | 0o755,
		".fscrypt/policies":                      fs.ModeDir | 0o755,
		".fscrypt/protectors":                    fs.ModeDir | 0o755,
		".fscrypt/policies/" + policy.Name():     0o600,
		".fscrypt/protectors/" + p1.Descriptor(): 0o600,
		".fscrypt/protectors/" + p2.Descriptor(): 0o600,
	}
	if got := list(t, top); !maps.Equal(got, want) {
		t.Errorf("files:\n got %v\nwant %v", got, want)
	}

	again, err := Create(root)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	got, err := again.Policy(master.Identifier().String())
	if err != nil {
		t.Fatal(err)
	}
	if got.Options() != o || !slices.Equal(got.Protectors(), []string{p1.Descriptor(), p2.Descriptor()}) {
		t.Errorf("policy with %+v and %v", got.Options(), got.Protectors())
	}
	for _, v := range []struct {
		p      *Protector
		source Source
		name   string
		secret *keys.Secret
	}{{p1, CustomPassphrase, "mine", passphrase}, {p2, RawKey, "backup", raw}} {
		p, err := again.Protector(v.p.Descriptor())
		if err != nil {
			t.Fatal(err)
		}
		if p.Source() != v.source || p.Name() != v.name {
			t.Errorf("protector %v %q, want %v %q", p.Source(), p.Name(), v.source, v.name)
		}
		key, err := p.Unlock(v.secret)
		if err != nil {
			t.Fatal(err)
		}
		k, err := got.Unlock(p.Descriptor(), key)
		if err != nil {
			t.Fatal(err)
		}
		if k.Identifier() != master.Identifier() {
			t.Errorf("master key %v, want %v", k, master)
		}
		k.Close()
		key.Close()
	}

	if err := errors.Join(again.RemoveProtector(p2.Descriptor()), again.RemovePolicy(policy.Name())); err != nil {
		t.Fatal(err)
	}
	wantErr(t, again.RemoveProtector(p2.Descriptor()), ErrMissing)
	wantErr(t, again.RemovePolicy(policy.Name()), ErrMissing)
	delete(want, ".fscrypt/policies/"+policy.Name())
	delete(want, ".fscrypt/protectors/"+p2.Descriptor())
	if got := list(t, top); !maps.Equal(got, want) {
		t.Errorf("files:\n got %v\nwant %v", got, want)
	}
}

// A write that fails leaves what was there, and no temporary file.
func TestWriteFails(t *testing.T) {
	c := toolCaseOf(t, "tool-raw-key")
	root := writeFolder(t, c.files())
	d := openDir(t, root)
	p, err := d.Protector(c.Protectors[0].Descriptor)
	if err != nil {
		t.Fatal(err)
	}
	// A directory in the file's place: the rename fails.
	name := filepath.Join(root, FolderName, protectorsDir, p.Descriptor())
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(name, 0o755); err != nil {
		t.Fatal(err)
	}
	before := list(t, root)
	err = d.WriteProtector(p)
	var fe *FileError
	if !errors.As(err, &fe) || fe.Name != "protectors/"+p.Descriptor() {
		t.Errorf("error %v, want a FileError", err)
	}
	if got := list(t, root); !maps.Equal(got, before) {
		t.Errorf("files:\n got %v\nwant %v", got, before)
	}

	p.data.Name = strings.Repeat("x", MaxFileSize)
	if err := d.WriteProtector(p); err == nil {
		t.Error("a file that is too long to be read is written")
	}

	image := openMapFS(t, c.files())
	policy, err := image.Policy(c.Policies[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	wantErr(t, image.WritePolicy(policy), ErrReadOnly)
	wantErr(t, image.RemovePolicy(policy.Name()), ErrReadOnly)
	if err := image.Close(); err != nil {
		t.Error(err)
	}
}

// Whoever reads while another writes gets the old file or the new one.
func TestWriteIsAtomic(t *testing.T) {
	c := toolCaseOf(t, "tool-passphrase")
	root := writeFolder(t, c.files())
	v := c.Protectors[0]
	done := make(chan error, 1)
	writer := openDir(t, root)
	go func() {
		for i := range 200 {
			p, err := parseProtector(v.Descriptor, v.File)
			if err != nil {
				done <- err
				return
			}
			p.data.Name = strings.Repeat("x", i%2*10000+1)
			if err := writer.WriteProtector(p); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	d := openDir(t, root)
	for {
		if _, err := d.Protectors(); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
	}
}

func TestReadLimit(t *testing.T) {
	c := toolCaseOf(t, "tool-raw-key")
	v := c.Protectors[0]
	// An unknown field of so many bytes: tag 15 of wire type 2, length in two or three
	// bytes.
	pad := func(size int) []byte {
		for n := size - len(v.File); n > 0; n-- {
			b := append(bytes.Clone(v.File), 15<<3|2)
			b = append(b, byte(n)|0x80, byte(n>>7)|0x80, byte(n>>14))
			if len(b)+n == size {
				return append(b, make([]byte, n)...)
			}
		}
		panic("no such size")
	}
	for size, want := range map[int]error{MaxFileSize - 1: nil, MaxFileSize: nil, MaxFileSize + 1: ErrDamaged} {
		files := map[string][]byte{"protectors/" + v.Descriptor: pad(size)}
		for _, d := range []*Dir{openDir(t, writeFolder(t, files)), openMapFS(t, files)} {
			if _, err := d.Protector(v.Descriptor); !errors.Is(err, want) {
				t.Errorf("%d bytes: error %v, want %v", size, err, want)
			}
		}
	}
}

// A write removes what interrupted ones have left, and nothing that may still be
// written, is no file, or is another's.
func TestStaleFiles(t *testing.T) {
	root := t.TempDir()
	r, err := os.OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	d, err := Create(r)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	folder := filepath.Join(root, FolderName, protectorsDir)
	old := time.Now().Add(-2 * staleAge)
	files := []struct {
		name      string
		make      func(path string) error
		old, stay bool
	}{
		{".tmpold", func(p string) error { return os.WriteFile(p, nil, 0o600) }, true, false},
		{".tmpyoung", func(p string) error { return os.WriteFile(p, nil, 0o600) }, false, true},
		{".tmpdir", func(p string) error { return os.Mkdir(p, 0o700) }, true, true},
		{"tmp", func(p string) error { return os.WriteFile(p, nil, 0o600) }, true, true},
	}
	for _, f := range files {
		path := filepath.Join(folder, f.name)
		if err := f.make(path); err != nil {
			t.Fatal(err)
		}
		if f.old {
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	raw, err := keys.CopySecret(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	p, key, err := NewRawKeyProtector("p", raw)
	if err != nil {
		t.Fatal(err)
	}
	defer key.Close()
	if err := d.WriteProtector(p); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, err := os.Lstat(filepath.Join(folder, f.name)); (err == nil) != f.stay {
			t.Errorf("%s: %v; shall it stay: %v", f.name, err, f.stay)
		}
	}
}
