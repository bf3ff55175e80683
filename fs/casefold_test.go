package fs_test

import (
	"bytes"
	"errors"
	"path"
	"strings"
	"syscall"
	"testing"

	"encfs/fs"
	"encfs/fs/ext4/ext4test"
	"encfs/fs/store"
)

// spellings are other ways to write names, each of which leads to the same entry in
// a casefolded directory.
var spellings = []struct {
	name  string
	spell func(string) string
}{
	{"upper", strings.ToUpper},
	{"lower", func(s string) string {
		return strings.ReplaceAll(strings.ToLower(strings.ReplaceAll(s, "İ", "i\u0307")), "É", "é")
	}},
	{"with something ignorable", func(s string) string { return s + "\u200D" }},
	{"sharp s", func(s string) string { return strings.NewReplacer("ß", "SS").Replace(s) }},
	{"decomposed", func(s string) string {
		return strings.NewReplacer("É", "e\u0301", "é", "E\u0301", "İ", "I\u0307").Replace(s)
	}},
}

// isFolded reports whether an entry of the image "casefold" is in a casefolded
// directory.
func isFolded(p string) bool {
	return strings.HasPrefix(p, "cf-clear/") || strings.HasPrefix(p, "secret/cf/")
}

// TestCasefold finds every entry of casefolded directories, encrypted and not, by
// other spellings, and none elsewhere.
func TestCasefold(t *testing.T) {
	f := ext4test.Get("casefold")
	m := f.Manifest(t)
	v := openSystem(t, f.Image(t), fs.Options{}, rawKeys(m)...)
	folded := 0
	for n := range m.Entries {
		e := &m.Entries[n]
		p := e.PlainPath(t)
		for _, s := range spellings {
			name := s.spell(path.Base(p))
			if name == path.Base(p) || len(name) > fs.NameMax {
				continue
			}
			i, a, err := v.Walk(path.Join(path.Dir(p), name))
			if !isFolded(p) {
				if fs.Errno(err) != syscall.ENOENT {
					t.Errorf("%q, %s: error %v, as if it were casefolded", p, s.name, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%q, %s: %v", p, s.name, err)
				continue
			}
			if a.Ino != e.Ino {
				t.Errorf("%q, %s: inode %d, want %d", p, s.name, a.Ino, e.Ino)
			}
			v.Release(i, 1)
			folded++
		}
	}
	if folded < len(m.Entries) {
		t.Errorf("only %d lookups", folded)
	}
	for _, p := range []string{"cf-clear/none", "secret/cf/NONE", "secret/cf/Many/item", "cf-clear/\u200D", "cf-clear/up\xFFper"} {
		if _, _, err := v.Walk(p); fs.Errno(err) != syscall.ENOENT {
			t.Errorf("%q: %v", p, err)
		}
	}
}

// TestCasefoldLocked finds no-key names by nothing but themselves.
func TestCasefoldLocked(t *testing.T) {
	f := ext4test.Get("casefold")
	m := f.Manifest(t)
	v := openSystem(t, f.Image(t), fs.Options{})
	for n := range m.Entries {
		e := &m.Entries[n]
		p := e.LockedPath(t)
		if e.NoKeyPath == "" || p == strings.ToUpper(p) {
			continue
		}
		if i, a, err := v.Walk(path.Join(path.Dir(p), strings.ToUpper(path.Base(p)))); err == nil && a.Ino == e.Ino {
			v.Release(i, 1)
			t.Errorf("%q is found in another case", p)
		}
	}
}

// A strictSystem is one whose encoding is strict, or that cannot be listed.
type strictSystem struct {
	store.FileSystem
	listErr error
	lists   int
}

func (s *strictSystem) Case(n store.Node) (store.Case, error) {
	c, err := s.FileSystem.Case(n)
	if c == store.CaseFolded {
		c = store.CaseFoldedStrict
	}
	return c, err
}

func (s *strictSystem) ReadDir(n store.Node) ([]store.Dirent, error) {
	s.lists++
	if s.listErr != nil {
		return nil, s.listErr
	}
	return s.FileSystem.ReadDir(n)
}

// TestCasefoldStrict refuses names that are not UTF-8 where the encoding is strict,
// as the kernel does. Directories are listed once, and again after an error.
func TestCasefoldStrict(t *testing.T) {
	img := ext4test.Get("casefold").Image(t)
	strict := &strictSystem{FileSystem: openStore(t, img)}
	v := newSystem(t, strict, fs.Options{})
	if _, _, err := v.Walk("cf-clear/up\xFFper"); fs.Errno(err) != syscall.EINVAL {
		t.Errorf("not UTF-8: %v, want EINVAL", err)
	}
	if _, _, err := v.Walk("no\xFFthing"); fs.Errno(err) != syscall.ENOENT {
		t.Errorf("not UTF-8, and not casefolded: %v, want ENOENT", err)
	}
	strict.listErr = syscall.EIO
	if _, _, err := v.Walk("cf-clear/upper"); !errors.Is(err, syscall.EIO) {
		t.Errorf("not to be listed: %v, want EIO", err)
	}
	strict.listErr, strict.lists = nil, 0
	for _, name := range []string{"upper", "Upper", "UPPER", "LOWER", "none"} {
		i, _, err := v.Walk("cf-clear/" + name)
		if (err != nil) != (name == "none") {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			v.Release(i, 1)
		}
	}
	if strict.lists != 1 {
		t.Errorf("the directory was listed %d times", strict.lists)
	}
}

// TestCasefoldDamaged finds other spellings beside what is damaged.
func TestCasefoldDamaged(t *testing.T) {
	f := ext4test.Get("casefold")
	m := f.Manifest(t)
	img := bytes.ReplaceAll(f.Image(t), []byte("MixedCase.TXT"), []byte("NixedCase.TXT"))
	v := openSystem(t, img, fs.Options{}, rawKeys(m)...)
	if _, _, err := v.Walk("cf-clear/upper"); fs.Errno(err) != syscall.EIO {
		t.Errorf("in the damaged block: %v, want EIO", err)
	}
	if i, _, err := v.Walk("secret/cf/STRASSE2"); err != nil {
		t.Error(err)
	} else {
		v.Release(i, 1)
	}
}
