package test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/fs/store"
	"encfs/keys"
	"encfs/keys/metadata"
)

// Golden cipher directories were written once, by the program through a mount,
// and must open for ever after. testdata/golden/NAME.tar.gz is one,
// NAME.json says what is in it. Another is made by a line in this table and
//
//	go test ./test -run 'TestGolden$' -v -golden.write
//
// which writes those that are not there yet and says their checksums.
var writeGolden = flag.Bool("golden.write", false, "write the golden cipher directories that are missing")

// A golden is a golden cipher directory.
type golden struct {
	name     string
	sha256   string   // of the archive
	flags    []string // of init
	policy   keys.Policy
	password string
}

var goldens = []golden{
	{
		name: "xts-cts", sha256: "18da5938062a415fe92f8145f5056bceb032ab051b3ace08e5354ff972109413",
		flags:    []string{"--cipher", "aes-256-xts", "--names", "aes-256-cts", "--padding", "32"},
		policy:   keys.Policy{Contents: keys.AES256XTS, Filenames: keys.AES256CTS, Flags: keys.FlagPad32},
		password: "the first one",
	},
	{
		name: "xts-hctr2", sha256: "df53fd485c6d39726d6d65c280f2197eaaea8f0d505555959504112719bee31a",
		flags:    []string{"--cipher", "aes-256-xts", "--names", "aes-256-hctr2", "--padding", "16"},
		policy:   keys.Policy{Contents: keys.AES256XTS, Filenames: keys.AES256HCTR2, Flags: keys.FlagPad16},
		password: "ein Paßwort in UTF-8",
	},
	{
		name: "adiantum", sha256: "16aec8f8498bdd71294258be43c8fa846e0c69c6dbd011adb2d2c3984eb029f6",
		flags:    []string{"--cipher", "adiantum", "--names", "adiantum", "--padding", "4"},
		policy:   keys.Policy{Contents: keys.Adiantum, Filenames: keys.Adiantum},
		password: " with blanks at both ends ",
	},
	{
		name: "essiv-cts", sha256: "6984d046e204f69f999ed319040e04512096d83f6df6f0ae4d49c844c599a3fa",
		flags:    []string{"--cipher", "aes-128-cbc-essiv", "--names", "aes-128-cts", "--padding", "8"},
		policy:   keys.Policy{Contents: keys.AES128CBCESSIV, Filenames: keys.AES128CTS, Flags: keys.FlagPad8},
		password: strings.Repeat("long ", 50),
	},
}

// maxGolden bounds the size of an archive in bytes.
const maxGolden = 200 << 10

// A manifest says what a golden cipher directory holds.
type manifest struct {
	Passphrase string        `json:"passphrase"`
	MasterKey  string        `json:"master_key"` // raw, in hexadecimal
	Entries    []goldenEntry `json:"entries"`
}

// A goldenEntry is an entry of a manifest. Names may be any bytes, which JSON
// cannot hold, so strings are quoted as in Go.
type goldenEntry struct {
	Path   string            `json:"path"` // quoted
	Mode   uint32            `json:"mode"` // st_mode
	Size   int64             `json:"size,omitempty"`
	SHA256 string            `json:"sha256,omitempty"`
	Target string            `json:"target,omitempty"` // quoted
	Links  uint64            `json:"links,omitempty"`
	First  string            `json:"first,omitempty"`  // path of the first link to the same file, quoted
	Xattrs map[string]string `json:"xattrs,omitempty"` // value quoted
}

func (g golden) path(suffix string) string { return filepath.Join("testdata", "golden", g.name+suffix) }

func (g golden) read(t *testing.T) (m manifest, archive []byte) {
	t.Helper()
	archive, err := os.ReadFile(g.path(".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x", sum(archive)); got != g.sha256 {
		t.Fatalf("the archive has been changed: SHA-256 %s, want %s", got, g.sha256)
	}
	text, err := os.ReadFile(g.path(".json"))
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m, archive
}

// TestGolden reads the golden cipher directories without a mount.
func TestGolden(t *testing.T) {
	if *writeGolden {
		writeMissingGoldens(t)
	}
	for _, g := range goldens {
		t.Run(g.name, func(t *testing.T) {
			m, archive := g.read(t)
			dir := filepath.Join(tempDir(t), "cipher")
			xattrs := extract(t, archive, dir)
			before := snapshot(t, dir)
			v := openGolden(t, dir, m.MasterKey)
			got, want := v.Policy(), g.policy
			want.Version, want.Log2DataUnitSize, want.Identifier = 2, got.Log2DataUnitSize, got.Identifier
			if got != want {
				t.Errorf("policy %v, want %v", got, want)
			}
			entries := map[string]goldenEntry{}
			describeVolume(t, v, v.Root(), "", entries, map[uint64]string{})
			compareGolden(t, m, entries, xattrs)
			if err := v.Close(); err != nil {
				t.Error(err)
			}
			if after := snapshot(t, dir); after != before {
				t.Errorf("reading has changed it:\n%s\nwas\n%s", after, before)
			}
			if raw := unlockByPassphrase(t, dir, m.Passphrase); raw != m.MasterKey {
				t.Errorf("the passphrase opens the master key %s, want %s", raw, m.MasterKey)
			}
		})
	}
}

// TestGoldenMount reads the golden cipher directories through a mount, and then
// writes.
func TestGoldenMount(t *testing.T) {
	needFUSE(t)
	for _, g := range goldens {
		t.Run(g.name, func(t *testing.T) {
			m, archive := g.read(t)
			base := tempDir(t)
			tr := &tree{t: t, cipher: filepath.Join(base, "cipher"), root: filepath.Join(base, "plain"), passfile: filepath.Join(base, "passphrase")}
			xattrs := extract(t, archive, tr.cipher)
			for _, err := range []error{
				os.Mkdir(tr.root, 0o755),
				os.WriteFile(tr.passfile, []byte(m.Passphrase+"\n"), 0o600),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, flags := range [][]string{{"--ro"}, nil} {
				tr.mount(flags...)
				compareGolden(t, m, describeMount(t, tr.root), xattrs)
				if flags == nil {
					wantFile(t, tr.plant("new", pattern(10000, 1)), pattern(10000, 1))
					if err := os.Remove(tr.path("new")); err != nil {
						t.Error(err)
					}
				}
				tr.umount()
			}
		})
	}
}

// openGolden opens a cipher directory by its raw master key, for reading.
func openGolden(t *testing.T, dir, masterKey string) *fs.Volume {
	t.Helper()
	raw, err := hex.DecodeString(masterKey)
	if err != nil {
		t.Fatal(err)
	}
	mk, err := keys.NewMasterKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	st, err := dirstore.Open(dir, dirstore.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Unlock(fs.NewHeaderAuthenticator(mk)); err != nil {
		t.Fatal(err)
	}
	ring := new(keys.Keyring)
	ring.Add(mk)
	v, err := fs.NewVolume(st, ring, fs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// unlockByPassphrase returns the raw master key that a passphrase opens, in
// hexadecimal.
func unlockByPassphrase(t *testing.T, dir, passphrase string) string {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	must(err)
	defer root.Close()
	d, err := metadata.Open(root, false)
	must(err)
	defer d.Close()
	policies, err := d.Policies()
	must(err)
	protectors, err := d.Protectors()
	must(err)
	if len(policies) != 1 || len(protectors) != 1 {
		t.Fatalf("%d policies and %d protectors, want one of each", len(policies), len(protectors))
	}
	secret, err := keys.CopySecret([]byte(passphrase))
	must(err)
	defer secret.Close()
	key, err := protectors[0].Unlock(secret)
	must(err)
	defer key.Close()
	mk, err := policies[0].Unlock(protectors[0].Descriptor(), key)
	must(err)
	defer mk.Close()
	raw, err := mk.Raw()
	must(err)
	defer raw.Close()
	return hex.EncodeToString(raw.Bytes())
}

// describeVolume adds what is below a directory to entries, by quoted paths.
func describeVolume(t *testing.T, v *fs.Volume, dir *fs.Inode, path string, entries map[string]goldenEntry, first map[uint64]string) {
	t.Helper()
	list, err := v.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	sortedNames := map[string]bool{}
	for _, e := range list {
		sortedNames[e.Name] = true
	}
	for _, name := range sorted(sortedNames) {
		p := filepath.Join(path, name)
		i, a, err := v.Lookup(dir, name)
		if err != nil {
			t.Errorf("%q: %v", p, err)
			continue
		}
		e := goldenEntry{Path: strconv.QuoteToASCII(p), Mode: a.Mode}
		switch a.Mode & store.ModeType {
		case store.ModeRegular:
			var b bytes.Buffer
			if err := v.ReadFile(i, &b); err != nil {
				t.Errorf("%q: %v", p, err)
			}
			e.regular(a.Size, uint64(a.Nlink), a.Ino, b.Bytes(), first)
		case store.ModeSymlink:
			target, err := v.Readlink(i)
			if err != nil {
				t.Errorf("%q: %v", p, err)
			}
			e.Size, e.Target = a.Size, strconv.QuoteToASCII(target)
		case store.ModeDir:
			describeVolume(t, v, i, p, entries, first)
		}
		names, err := v.ListXattr(i)
		if err != nil && fs.Errno(err) != unix.EOPNOTSUPP {
			t.Errorf("%q: %v", p, err)
		}
		for _, name := range names {
			if strings.HasPrefix(name, "user.") {
				value, err := v.GetXattr(i, name)
				e.xattr(t, name, value, err)
			}
		}
		entries[e.Path] = e
		v.Release(i, 1)
	}
}

// regular fills in what a manifest says of a regular file.
func (e *goldenEntry) regular(size int64, links, ino uint64, data []byte, first map[uint64]string) {
	e.Size, e.Links, e.SHA256 = size, links, fmt.Sprintf("%x", sum(data))
	if int64(len(data)) != size {
		e.SHA256 = fmt.Sprintf("of %d bytes rather than %d", len(data), size)
	}
	if links > 1 {
		if first[ino] == "" {
			first[ino] = e.Path
		}
		e.First = first[ino]
	}
}

func (e *goldenEntry) xattr(t *testing.T, name string, value []byte, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %s: %v", e.Path, name, err)
		return
	}
	if e.Xattrs == nil {
		e.Xattrs = map[string]string{}
	}
	e.Xattrs[name] = strconv.QuoteToASCII(string(value))
}

// describeMount is describeVolume for a mount.
func describeMount(t *testing.T, root string) map[string]goldenEntry {
	t.Helper()
	entries := map[string]goldenEntry{}
	first := map[uint64]string{}
	err := filepath.WalkDir(root, func(path string, _ iofs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		e := goldenEntry{Path: strconv.QuoteToASCII(rel), Mode: st.Mode}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			data, err := os.ReadFile(path)
			if err != nil && !errors.Is(err, iofs.ErrPermission) {
				return err
			}
			e.regular(st.Size, uint64(st.Nlink), st.Ino, data, first)
		case unix.S_IFLNK:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			e.Size, e.Target = st.Size, strconv.QuoteToASCII(target)
		}
		buf := make([]byte, 4096)
		n, err := unix.Llistxattr(path, buf)
		if err != nil && err != unix.EOPNOTSUPP {
			return err
		}
		for name := range strings.SplitSeq(string(buf[:max(n, 0)]), "\x00") {
			if strings.HasPrefix(name, "user.") {
				value := make([]byte, 4096)
				n, err := unix.Lgetxattr(path, name, value)
				e.xattr(t, name, value[:max(n, 0)], err)
			}
		}
		entries[e.Path] = e
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return entries
}

func compareGolden(t *testing.T, m manifest, got map[string]goldenEntry, xattrs bool) {
	t.Helper()
	known := map[string]bool{}
	for _, want := range m.Entries {
		if !xattrs {
			want.Xattrs = nil
		}
		known[want.Path] = true
		if g, w := asJSON(t, got[want.Path]), asJSON(t, want); g != w {
			t.Errorf("%s:\n got %s\nwant %s", want.Path, g, w)
		}
	}
	for path := range got {
		if !known[path] {
			t.Errorf("%s should not be there", path)
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// xattrRecord is what the PAX records of extended attributes begin with.
const xattrRecord = "SCHILY.xattr."

// extract unpacks an archive into a new directory, and reports whether extended
// attributes could be kept. Owners are not.
func extract(t *testing.T, archive []byte, dir string) (xattrs bool) {
	t.Helper()
	xattrs, err := unpack(archive, dir)
	if err != nil {
		t.Fatal(err)
	}
	return xattrs
}

func unpack(archive []byte, dir string) (xattrs bool, err error) {
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return false, err
	}
	xattrs = true
	r := tar.NewReader(z)
	for {
		h, err := r.Next()
		if err == io.EOF {
			return xattrs, nil
		}
		if err != nil {
			return false, err
		}
		path := filepath.Join(dir, h.Name)
		switch h.Typeflag {
		case tar.TypeDir:
			err = os.Mkdir(path, 0o700)
		case tar.TypeReg:
			var data []byte
			if data, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, data, 0o600)
			}
		case tar.TypeSymlink:
			err = os.Symlink(h.Linkname, path)
		case tar.TypeLink:
			err = os.Link(filepath.Join(dir, h.Linkname), path)
		case tar.TypeFifo:
			err = unix.Mkfifo(path, 0o600)
		default:
			err = fmt.Errorf("%s has the unknown type %c", h.Name, h.Typeflag)
		}
		if err != nil {
			return false, err
		}
		if h.Typeflag == tar.TypeSymlink || h.Typeflag == tar.TypeLink {
			continue
		}
		for name, value := range h.PAXRecords {
			if attr, ok := strings.CutPrefix(name, xattrRecord); ok {
				if err := unix.Lsetxattr(path, attr, []byte(value), 0); err == unix.EOPNOTSUPP {
					xattrs = false
				} else if err != nil {
					return false, err
				}
			}
		}
		if err := unix.Chmod(path, uint32(h.Mode)); err != nil {
			return false, err
		}
	}
}
