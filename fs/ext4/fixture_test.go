package ext4_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"encfs/fs/ext4"
)

// fixturesVar names a folder with more images and manifests like those in
// testdata.
const fixturesVar = "ENCFS_EXT4_FIXTURES"

// A manifest says what a kernel found in an image; testdata/README.md describes
// it.
type manifest struct {
	Name      string
	ImageSize int64 `json:"image_size"`
	FS        struct {
		UUID          string
		BlockSize     int  `json:"block_size"`
		NeedsRecovery bool `json:"needs_recovery"`
	}
	Keys []struct {
		RawHex string `json:"raw_hex"`
	}
	Tool      *toolInfo `json:"fscrypt_tool"`
	MayRefuse bool      `json:"may_refuse"`
	Root      struct {
		Mode  string
		Nlink uint32
		Mtime [2]int64
	}
	Entries []entry
}

// An entry is an object of a manifest, under one of its names.
type entry struct {
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

// fixtures returns the manifests in testdata and in the folder that the
// environment names, without their ends.
func fixtures(t testing.TB) []string {
	t.Helper()
	found, err := filepath.Glob("testdata/*.json.zst")
	if err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv(fixturesVar); dir != "" {
		more, err := filepath.Glob(filepath.Join(dir, "*.json.zst"))
		if err != nil {
			t.Fatal(err)
		}
		if len(more) == 0 {
			t.Fatalf("%s=%s: there are none", fixturesVar, dir)
		}
		found = append(found, more...)
	}
	var paths []string
	known := map[string]bool{}
	for _, path := range found {
		path = strings.TrimSuffix(path, ".json.zst")
		if !known[filepath.Base(path)] {
			paths = append(paths, path)
		}
		known[filepath.Base(path)] = true
	}
	return paths
}

func unzstd(t testing.TB, path string) []byte {
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

// image returns the image of a fixture.
func image(t testing.TB, path string) []byte { return unzstd(t, path+".img.zst") }

func readManifest(t testing.TB, path string) *manifest {
	t.Helper()
	m := new(manifest)
	if err := json.Unmarshal(unzstd(t, path+".json.zst"), m); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return m
}

// openImage opens an image in memory until the test ends.
func openImage(t testing.TB, img []byte) *ext4.Store {
	t.Helper()
	s := openImageUnclosed(t, img)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func openImageUnclosed(t testing.TB, img []byte) *ext4.Store {
	t.Helper()
	s, err := ext4.Open(bytes.NewReader(img), int64(len(img)), ext4.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
