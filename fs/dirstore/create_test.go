package dirstore

import (
	"testing"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// TestNewAttributes compares the attributes that a new object is said to have
// with those that it has from then on, its ctime among them.
func TestNewAttributes(t *testing.T) {
	s := open(t, newTree(t), Options{})
	for _, tt := range []struct {
		name string
		make func(dir store.Node, name []byte) (store.Node, store.Attr, error)
	}{
		{"file", func(dir store.Node, name []byte) (store.Node, store.Attr, error) {
			n, a, f, err := s.Create(dir, name, 0o640, anyOwner)
			if err == nil {
				f.Close()
			}
			return n, a, err
		}},
		{"directory", func(dir store.Node, name []byte) (store.Node, store.Attr, error) {
			return s.Mkdir(dir, name, 0o750, anyOwner, testContext)
		}},
		{"link", func(dir store.Node, name []byte) (store.Node, store.Attr, error) {
			return s.Symlink(dir, name, make([]byte, 32), anyOwner, testContext)
		}},
		{"FIFO", func(dir store.Node, name []byte) (store.Node, store.Attr, error) {
			return s.Mknod(dir, name, unix.S_IFIFO|0o600, 0, anyOwner)
		}},
		{"hard link", func(dir store.Node, name []byte) (store.Node, store.Attr, error) {
			n := lookup(t, s, dir, testName("FIFO"))
			a, err := s.Link(n, dir, name)
			return n, a, err
		}},
	} {
		for _, name := range [][]byte{testName(tt.name), longName(tt.name)} {
			n, said, err := tt.make(s.Root(), name)
			must(t, err)
			has, err := s.Attr(n)
			must(t, err)
			if said != has {
				t.Errorf("%s: said to be %+v, is %+v", tt.name, said, has)
			}
		}
	}
}
