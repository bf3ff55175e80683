package dirstore

import (
	"bytes"
	"os"
	"testing"

	"encfs/fs/store"
)

// Who has found a file opens it although its last name has gone meanwhile, as
// with a local file system; and the descriptor that makes this possible is not
// kept for longer than the node is in use.
func TestOpenAfterLastLink(t *testing.T) {
	data := bytes.Repeat([]byte{7}, 5*unitSize)
	for _, tt := range []struct {
		name   string
		remove func(s *Store, name, other []byte) error
	}{
		{"unlink", func(s *Store, name, _ []byte) error { return s.Unlink(s.Root(), name) }},
		{"rename over it", func(s *Store, name, other []byte) error {
			return s.Rename(s.Root(), other, s.Root(), name, 0)
		}},
	} {
		for _, openBefore := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				s := open(t, newTree(t), Options{})
				defer s.Close()
				name, other := bytes.Repeat([]byte("n"), 32), bytes.Repeat([]byte("o"), 32)
				n, _, f, err := s.Create(s.Root(), name, 0o400, store.Owner{UID: -1, GID: -1})
				if err != nil {
					t.Fatal(err)
				}
				f.SetContext(testContext)
				if _, err := f.WriteUnits(data, 0, int64(len(data))); err != nil {
					t.Fatal(err)
				}
				if !openBefore {
					f.Close()
				}
				o, _, g, err := s.Create(s.Root(), other, 0o600, store.Owner{UID: -1, GID: -1})
				if err != nil {
					t.Fatal(err)
				}
				g.Close()
				if err := tt.remove(s, name, other); err != nil {
					t.Fatal(err)
				}
				if openBefore {
					f.Close()
				}
				for _, write := range []bool{false, true} {
					h, err := s.Open(n, write)
					if err != nil {
						t.Fatalf("Open after the last name has gone = %v", err)
					}
					buf := make([]byte, len(data))
					if k, err := h.ReadUnits(buf, 0, make([]bool, 5)); k != len(data) || err != nil || !bytes.Equal(buf, data) {
						t.Errorf("ReadUnits = %d, %v, or other data", k, err)
					}
					h.Close()
				}
				if a, err := s.Attr(n); err != nil || a.Nlink != 0 || a.Size != int64(len(data)) {
					t.Errorf("Attr = %+v, %v", a, err)
				}
				before := descriptors(t)
				s.Release(n, 1)
				s.Release(o, 1)
				if after := descriptors(t); after != before-1 {
					t.Errorf("%d descriptors before the release, %d after, want one less", before, after)
				}
			})
		}
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc: ", err)
	}
	return len(fds)
}
