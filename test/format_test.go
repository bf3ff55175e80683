package test

import (
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/keys"
)

// A formatExample is the worked example of docs/directory-format.md.
type formatExample struct {
	keys  map[string]string // name of a key → hex
	tree  []string          // the lower tree: "path" or "path -> target"
	dumps [][]byte          // header of the root, the file, header of the directory
	sizes [][2]int64        // plain and lower size, from the table of section 4
}

func readFormatExample(t *testing.T) formatExample {
	t.Helper()
	doc, err := os.ReadFile("../docs/directory-format.md")
	if err != nil {
		t.Fatal(err)
	}
	e := formatExample{keys: map[string]string{}}
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \| (\d+) \| \| (\d+) \| (\d+) \|$`).FindAllStringSubmatch(string(doc), -1) {
		var n [4]int64
		for i := range n {
			n[i], _ = strconv.ParseInt(m[i+1], 10, 64)
		}
		e.sizes = append(e.sizes, [2]int64{n[0], n[1]}, [2]int64{n[2], n[3]})
	}
	_, example, _ := strings.Cut(string(doc), "## 9 A worked example\n")
	for i, m := range regexp.MustCompile("(?ms)^```\n(.*?)^```$").FindAllStringSubmatch(example, -1) {
		lines := strings.Split(strings.TrimSuffix(m[1], "\n"), "\n")
		switch i {
		case 0:
			for _, line := range lines {
				name, key, _ := strings.Cut(line, "  ")
				e.keys[name] = strings.TrimSpace(key)
			}
		case 1:
			e.tree = lines
		default:
			e.dumps = append(e.dumps, parseDump(t, m[1]))
		}
	}
	if len(e.keys) != 5 || len(e.tree) != 4 || len(e.dumps) != 3 || len(e.sizes) != 10 {
		t.Fatalf("the example has %d keys, %d lower names, %d dumps, %d sizes; want 5, 4, 3, 10",
			len(e.keys), len(e.tree), len(e.dumps), len(e.sizes))
	}
	return e
}

// parseDump returns the bytes of a dump as hex.Dump writes it.
func parseDump(t *testing.T, dump string) []byte {
	t.Helper()
	var b []byte
	for line := range strings.Lines(dump) {
		digits, _, _ := strings.Cut(line[len("00000000  "):], "|")
		row, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, row...)
	}
	if got := hex.Dump(b); got != dump {
		t.Fatalf("a dump of the bytes is\n%snot\n%s", got, dump)
	}
	return b
}

// write makes the lower tree of the example below a temporary folder and
// returns its root and the lower path of the file.
func (e formatExample) write(t *testing.T) (root, file string) {
	t.Helper()
	root = t.TempDir()
	dumps := e.dumps
	for _, line := range e.tree {
		name, target, isLink := strings.Cut(line, " -> ")
		path := filepath.Join(root, name)
		var err error
		switch dir := filepath.Dir(name); {
		case isLink:
			err = os.Symlink(target, path)
		case name == ".encfs-dir":
			err = os.WriteFile(path, dumps[0], 0o600)
		case dir != ".":
			if err = os.Mkdir(filepath.Join(root, dir), 0o700); err == nil {
				err = os.WriteFile(path, dumps[2], 0o600)
			}
		default:
			file = path
			err = os.WriteFile(path, dumps[1], 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root, file
}

// open opens the tree with the master key of the example.
func (e formatExample) open(t *testing.T, root string) *fs.Volume {
	t.Helper()
	st, err := dirstore.Open(root, dirstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	mk := exampleKey(t)
	if err := st.Unlock(fs.NewHeaderAuthenticator(mk)); err != nil {
		t.Fatal(err)
	}
	ring := new(keys.Keyring)
	ring.Add(mk)
	v, err := fs.NewVolume(st, ring, fs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v
}

func exampleKey(t *testing.T) *keys.MasterKey {
	t.Helper()
	raw := make([]byte, 64)
	for i := range raw {
		raw[i] = byte(i)
	}
	mk, err := keys.NewMasterKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	return mk
}

// TestFormatExample opens the cipher directory that the document shows.
func TestFormatExample(t *testing.T) {
	e := readFormatExample(t)
	root, _ := e.write(t)
	v := e.open(t, root)

	entries, err := v.ReadDir(v.Root())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name)
	}
	slices.Sort(names)
	if want := []string{"hello.txt", "link", "sub"}; !slices.Equal(names, want) {
		t.Fatalf("root lists %q, want %q", names, want)
	}

	file, attr, err := v.Walk("hello.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer v.Release(file, 1)
	var contents strings.Builder
	if err := v.ReadFile(file, &contents); err != nil {
		t.Fatal(err)
	}
	if want := "Hello, world!\n"; contents.String() != want || attr.Size != int64(len(want)) {
		t.Errorf("hello.txt has %q, size %d; want %q", contents.String(), attr.Size, want)
	}

	link, _, err := v.Walk("link")
	if err != nil {
		t.Fatal(err)
	}
	defer v.Release(link, 1)
	if target, err := v.Readlink(link); target != "hello.txt" {
		t.Errorf("link leads to %q, %v; want hello.txt", target, err)
	}

	sub, _, err := v.Walk("sub")
	if err != nil {
		t.Fatal(err)
	}
	defer v.Release(sub, 1)
	if entries, err := v.ReadDir(sub); err != nil || len(entries) > 0 {
		t.Errorf("sub lists %v, %v; want nothing", entries, err)
	}
}

// TestFormatKeys derives the keys that the document names.
func TestFormatKeys(t *testing.T) {
	e := readFormatExample(t)
	mk := exampleKey(t)
	defer mk.Close()
	fileKey := func(nonce byte, mode keys.Mode) string {
		ctx := keys.Context{Policy: keys.Policy{
			Version: 2, Contents: keys.AES256XTS, Filenames: keys.AES256CTS,
			Flags: keys.FlagPad32, Log2DataUnitSize: 12, Identifier: mk.Identifier(),
		}}
		for i := range ctx.Nonce {
			ctx.Nonce[i] = nonce + byte(i)
		}
		k, err := mk.FileKey(ctx, mode, keys.Place{})
		if err != nil {
			t.Fatal(err)
		}
		return hex.EncodeToString(k.Key())
	}
	tags := make([]byte, keys.DirectoryKeySize)
	mk.DeriveDirectory(keys.HeaderTags, tags)
	want := map[string]string{
		"master key identifier": mk.Identifier().String(),
		"header tags":           hex.EncodeToString(tags),
		"names in the root":     fileKey(0x10, keys.AES256CTS),
		"contents of hello.txt": fileKey(0x20, keys.AES256XTS),
		"target of link":        fileKey(0x30, keys.AES256CTS),
	}
	if !maps.Equal(e.keys, want) {
		t.Errorf("keys in the document:\n got %q\nwant %q", e.keys, want)
	}
}

// TestFormatSizes gives the example's file the lower sizes of the table.
func TestFormatSizes(t *testing.T) {
	e := readFormatExample(t)
	for _, s := range e.sizes {
		t.Run(strconv.FormatInt(s[0], 10), func(t *testing.T) {
			root, file := e.write(t)
			if err := os.Truncate(file, s[1]); err != nil {
				t.Fatal(err)
			}
			v := e.open(t, root)
			i, attr, err := v.Walk("hello.txt")
			if err != nil {
				t.Fatal(err)
			}
			v.Release(i, 1)
			if attr.Size != s[0] {
				t.Errorf("lower size %d: plain size %d, want %d", s[1], attr.Size, s[0])
			}
		})
	}
}
