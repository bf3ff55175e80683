package fs_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/fs/ext4/ext4test"
	"encfs/keys"
)

func TestIOFS(t *testing.T) {
	f := ext4test.Get("v2-pad16-1k")
	m := f.Manifest(t)
	system := openSystem(t, f.Image(t), fs.Options{}, rawKeys(m)...)
	var want []string
	for n := range m.Entries {
		// The suite opens files and follows links, which not all can be.
		if e := &m.Entries[n]; strings.HasPrefix(e.Path, "secret/nested/") && e.Type == "file" {
			want = append(want, strings.TrimPrefix(e.Path, "secret/nested/"))
		}
	}
	tree, _ := openTree(t, newTree(t, keys.AES256XTS, keys.AES256CTS), fs.Options{}, dirstore.Options{})
	tree.CloseFile(create(t, tree, "a", []byte("contents")))
	tree.CloseFile(create(t, tree, "b", nil))
	for _, tt := range []struct {
		name string
		v    *fs.Volume
		dir  string
		want []string
	}{
		{"file system", system, "secret/nested", want},
		{"tree", tree, "", []string{"a", "b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := fstest.TestFS(tt.v.IOFS(tt.dir), tt.want...); err != nil {
				t.Error(err)
			}
		})
	}
}
