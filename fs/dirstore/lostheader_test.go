package dirstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOpenWithoutHeader opens folders without a header: what is there tells whether one is lost.
func TestOpenWithoutHeader(t *testing.T) {
	const object, long = "q83vASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4k", longPrefix + "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
	for _, tt := range []struct {
		name  string
		files []string
		copy  int // length of the attribute
		want  *LostHeaderError
	}{
		{name: "nothing"},
		{name: "other files", files: []string{"a", "README.md", "abcdefghijklmnopqrstuvwxyz012345"}},
		{name: "other hidden files", files: []string{".git", ".encfs"}},
		{name: "objects among others", files: []string{object, "README.md"}},
		{name: "metadata", files: []string{metadataName}, want: &LostHeaderError{Empty: true}},
		{name: "metadata and objects", files: []string{metadataName, object}, want: &LostHeaderError{}},
		{name: "metadata and others", files: []string{metadataName, "a"}, want: &LostHeaderError{}},
		{name: "objects", files: []string{object}, want: &LostHeaderError{}},
		{name: "long", files: []string{long, long + sidecarSuffix}, want: &LostHeaderError{}},
		{name: "copy", copy: headerSize, want: &LostHeaderError{Copy: true, Empty: true}},
		{name: "copy among others", files: []string{"a"}, copy: headerSize, want: &LostHeaderError{Copy: true}},
		{name: "short copy", copy: headerSize - 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range tt.files {
				if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if tt.copy > 0 {
				if err := unix.Setxattr(dir, headerXattr, []byte(strings.Repeat("x", tt.copy)), 0); err != nil {
					t.Skipf("no user attributes in %s: %v", dir, err)
				}
			}
			_, err := Open(dir, Options{})
			lost, ok := errors.AsType[*LostHeaderError](err)
			if ok != (tt.want != nil) || ok == errors.Is(err, ErrNotCipherDir) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if ok && *lost != *tt.want {
				t.Errorf("got %+v, want %+v", *lost, *tt.want)
			}
		})
	}
}
