package dirstore

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"testing"

	"encfs/fs/store"
	"encfs/fs/store/storetest"
)

// testAuth is an Authenticator with a key of its own.
type testAuth string

func (key testAuth) Tag(dst *[32]byte, message []byte) {
	h := hmac.New(sha256.New, []byte(key))
	h.Write(message)
	h.Sum(dst[:0])
}

const auth = testAuth("key")

// testContext is a context of 40 bytes.
var testContext = bytes.Repeat([]byte("context!"), contextSize/8)

// newTree makes a cipher directory.
func newTree(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := Create(dir, testContext, auth); err != nil {
		t.Fatal(err)
	}
	return dir
}

func open(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Unlock(auth); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	for _, v := range []struct {
		name string
		o    Options
	}{
		{"default", Options{}},
		{"shared", Options{Shared: true}},
		{"few descriptors", Options{MaxDirs: 1}},
	} {
		t.Run(v.name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) store.Store {
				s := open(t, newTree(t), v.o)
				t.Cleanup(func() { checkEmpty(t, s) })
				return s
			})
		})
	}
}

// checkEmpty checks that after all nodes have been released nothing is left of
// them in a store that has been closed.
func checkEmpty(t *testing.T, s *Store) {
	if t.Failed() {
		return
	}
	for _, n := range s.nodes {
		if n != s.root {
			t.Errorf("%v is left: %d references, %d pins", n, n.refs, n.pins)
		}
	}
	if d := s.root.dir; s.root.pins != 0 || len(d.children) != 0 || d.uses != 0 {
		t.Errorf("the root is left with %d pins, %d children and %d uses", s.root.pins, len(d.children), d.uses)
	}
	if s.openDirs != 0 || s.idle.oldest() != nil {
		t.Errorf("%d directories are left open", s.openDirs)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var anyOwner = store.Owner{UID: -1, GID: -1}

// testName returns an encrypted name of 32 bytes, longName one with a sidecar.
func testName(text string) []byte { return append([]byte(text), make([]byte, 32-len(text))...) }

func longName(text string) []byte { return append([]byte(text), make([]byte, 200-len(text))...) }

// lower returns the lower name for a name.
func lower(name []byte) string {
	n, err := encodeName(name)
	if err != nil {
		panic(err)
	}
	return n.string
}

func create(t testing.TB, s *Store, dir store.Node, name []byte) (store.Node, store.FileWriter) {
	t.Helper()
	n, _, f, err := s.Create(dir, name, 0o644, anyOwner)
	must(t, err)
	return n, f
}

func mkdir(t testing.TB, s *Store, dir store.Node, name []byte) store.Node {
	t.Helper()
	n, _, err := s.Mkdir(dir, name, 0o755, anyOwner, testContext)
	must(t, err)
	return n
}

func lookup(t testing.TB, s *Store, dir store.Node, name []byte) store.Node {
	t.Helper()
	n, _, err := s.Lookup(dir, name)
	must(t, err)
	return n
}
