// Package ext4test gives tests the file systems in fs/ext4/testdata, which a
// kernel has written, and what that kernel showed of them.
package ext4test

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"encfs/fs/store"
)

// Var is the environment variable that names a folder with more images and
// manifests like those in testdata.
const Var = "ENCFS_EXT4_FIXTURES"

// A Fixture is an image with its manifest.
type Fixture struct {
	Name string
	base string // path without the ends
}

// A Manifest says what a kernel found in an image; testdata/README.md describes
// it.
type Manifest struct {
	Name      string
	ImageSize int64 `json:"image_size"`
	FS        struct {
		UUID          string
		BlockSize     int  `json:"block_size"`
		NeedsRecovery bool `json:"needs_recovery"`
	}
	Keys []struct {
		RawHex       string `json:"raw_hex"`
		V1Descriptor string `json:"v1_descriptor"`
		V2Identifier string `json:"v2_identifier"`
	}
	Tool      *Tool `json:"fscrypt_tool"`
	MayRefuse bool  `json:"may_refuse"`
	Root      struct {
		Mode  string
		Nlink uint32
		Mtime [2]int64
	}
	Entries []Entry
}

// Tool is what a manifest says of the metadata of the fscrypt tool.
type Tool struct {
	Protectors []struct {
		Descriptor string
		Passphrase string
		RawKeyHex  string `json:"raw_key_hex"`
		Linked     string // the image that has it
	}
	PolicyDirs []struct {
		Dir, Policy string
	} `json:"policy_dirs"`
}

// An Entry is an object of a manifest, under one of its names.
type Entry struct {
	Path          string
	PathHex       string `json:"path_hex"`
	Type          string
	Ino           uint64
	Mode          string
	Size          int64
	Nlink         uint32
	UID, GID      uint32
	Rdev          [2]uint32
	Mtime         [2]int64
	SHA256        string
	DataSegments  [][2]int64 `json:"data_segments"`
	SegmentSHA256 []string   `json:"segment_sha256"`
	Target        *string
	TargetHex     string `json:"target_hex"`
	Xattrs        map[string]string
	Nonce         string
	NoKeyPath     string `json:"nokey_path"`
	NoKeyPathHex  string `json:"nokey_path_hex"`
	NoKeyTarget   string `json:"nokey_target"`
	NoKeySize     *int64 `json:"nokey_size"`
}

// All returns the fixtures in testdata, and those in the folder that Var names.
func All(t testing.TB) []Fixture {
	t.Helper()
	dirs := []string{testdata()}
	if dir := os.Getenv(Var); dir != "" {
		dirs = append(dirs, dir)
	}
	var all []Fixture
	known := map[string]bool{}
	for _, dir := range dirs {
		found, err := filepath.Glob(filepath.Join(dir, "*"+manifestSuffix))
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			t.Fatalf("%s: there are no images", dir)
		}
		for _, path := range found {
			base := strings.TrimSuffix(path, manifestSuffix)
			if f := (Fixture{filepath.Base(base), base}); !known[f.Name] {
				known[f.Name] = true
				all = append(all, f)
			}
		}
	}
	return all
}

// Get returns a fixture in testdata.
func Get(name string) Fixture { return Fixture{name, filepath.Join(testdata(), name)} }

const (
	imageSuffix    = ".img.zst"
	manifestSuffix = ".json.zst"
)

// testdata returns the path of fs/ext4/testdata, from where this file was when it
// was compiled.
func testdata() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "../testdata")
}

// Image returns the image.
func (f Fixture) Image(t testing.TB) []byte {
	t.Helper()
	return Unpack(t, f.base+imageSuffix)
}

// Manifest returns the manifest.
func (f Fixture) Manifest(t testing.TB) *Manifest {
	t.Helper()
	m := new(Manifest)
	if err := json.Unmarshal(Unpack(t, f.base+manifestSuffix), m); err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	return m
}

// Unpack returns the contents of a file that zstd has packed.
func Unpack(t testing.TB, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	b, err := io.ReadAll(d)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return b
}

// Unhex returns the bytes of a hexadecimal string.
func Unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// PlainPath returns the path with all keys.
func (e *Entry) PlainPath(t testing.TB) string {
	if e.PathHex != "" {
		return string(Unhex(t, e.PathHex))
	}
	return e.Path
}

// LockedPath returns the path without any key.
func (e *Entry) LockedPath(t testing.TB) string {
	switch {
	case e.NoKeyPathHex != "":
		return string(Unhex(t, e.NoKeyPathHex))
	case e.NoKeyPath != "":
		return e.NoKeyPath
	}
	return e.PlainPath(t)
}

// PlainTarget returns the target of a symbolic link with all keys.
func (e *Entry) PlainTarget(t testing.TB) string {
	if e.Target != nil {
		return *e.Target
	}
	return string(Unhex(t, e.TargetHex))
}

// Kind returns the type, as the S_IFMT bits of stat(2).
func (e *Entry) Kind(t testing.TB) uint32 {
	kinds := map[string]uint32{
		"file": store.ModeRegular, "dir": store.ModeDir, "symlink": store.ModeSymlink,
		"fifo": store.ModeFIFO, "chr": store.ModeChar, "blk": store.ModeBlock, "sock": store.ModeSocket,
	}
	kind, ok := kinds[e.Type]
	if !ok {
		t.Fatalf("type %q", e.Type)
	}
	return kind
}
