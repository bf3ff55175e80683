package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"encfs/fs/dirstore"
	"encfs/keys"
	"encfs/keys/metadata"
)

// A keyBundle is all that a passphrase or key of a cipher directory needs to open it.
// There is no secret in it that the directory itself has not.
//
// As a file it is a tar archive with what lies in the cipher directory, so that tar can
// put it back:
//
//	.encfs-dir                 the header of the root
//	.fscrypt/policies/ID       the policy
//	.fscrypt/protectors/ID     each of its protectors
//	.fscrypt/SHA256SUMS        of all these, as sha256sum writes it
type keyBundle struct {
	header     []byte
	policy     *metadata.Policy
	protectors []*metadata.Protector // those of the policy, in its order
}

// The names of files in a bundle.
const (
	bundlePolicies   = metadata.FolderName + "/policies"
	bundleProtectors = metadata.FolderName + "/protectors"
	bundleSums       = metadata.FolderName + "/SHA256SUMS"
)

// maxBundleFiles is how many files a bundle has at most: a policy with more protectors
// would not fit into its file.
const maxBundleFiles = 256

// errBundle means a file that is no bundle, or a damaged one.
var errBundle = errors.New("not a whole key backup of encfs")

// write writes the bundle, with the given time for its files.
func (b *keyBundle) write(w io.Writer, t time.Time) error {
	files := map[string][]byte{headerName: b.header}
	var err error
	if files[bundlePolicies+"/"+b.policy.Name()], err = b.policy.Marshal(); err != nil {
		return err
	}
	for _, p := range b.protectors {
		if files[bundleProtectors+"/"+p.Descriptor()], err = p.Marshal(); err != nil {
			return err
		}
	}
	var sums bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(files[name]), name)
	}
	files[bundleSums] = sums.Bytes()
	archive := tar.NewWriter(w)
	for _, name := range []string{metadata.FolderName, bundlePolicies, bundleProtectors} {
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: t}); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(files[name])), ModTime: t}
		if err := archive.WriteHeader(h); err != nil {
			return err
		}
		if _, err := archive.Write(files[name]); err != nil {
			return err
		}
	}
	return archive.Close()
}

// readKeyBundle reads and checks a bundle. The error is an errBundle or that of reading.
func readKeyBundle(r io.Reader) (*keyBundle, error) {
	files, err := readBundleFiles(r)
	if err != nil {
		return nil, err
	}
	if err := checkSums(files); err != nil {
		return nil, err
	}
	b := &keyBundle{header: files[headerName]}
	policy, err := b.rootPolicy()
	if err != nil {
		return nil, badBundle("%w", err)
	}
	name := policy.Identifier.String()
	if b.policy, err = metadata.ParsePolicy(name, files[bundlePolicies+"/"+name]); err != nil {
		return nil, badBundle("%w", err)
	}
	if o := b.policy.Options(); o.Version != int(policy.Version) || o.Contents != policy.Contents ||
		o.Filenames != policy.Filenames || o.Padding != policy.Padding() {
		return nil, badBundle("the header of the root does not go with the policy")
	}
	for _, descriptor := range b.policy.Protectors() {
		p, err := metadata.ParseProtector(descriptor, files[bundleProtectors+"/"+descriptor])
		if err != nil {
			return nil, badBundle("%w", err)
		}
		b.protectors = append(b.protectors, p)
	}
	if want := 2 + len(b.protectors); len(files) != want {
		return nil, badBundle("it has %d files, not %d", len(files), want)
	}
	return b, nil
}

// rootPolicy returns the policy that the header has.
func (b *keyBundle) rootPolicy() (keys.Policy, error) {
	raw, err := dirstore.ParseHeader(b.header)
	if err != nil {
		return keys.Policy{}, err
	}
	return contextPolicy(raw)
}

func badBundle(format string, args ...any) error {
	return fmt.Errorf("%w: %w", errBundle, fmt.Errorf(format, args...))
}

func readBundleFiles(r io.Reader) (map[string][]byte, error) {
	files := map[string][]byte{}
	archive := tar.NewReader(r)
	for {
		h, err := archive.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, bundleReadError(err)
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		name := path.Clean(h.Name) // tar may put ./ before it
		if _, twice := files[name]; twice || h.Typeflag != tar.TypeReg || h.Size > metadata.MaxFileSize || len(files) == maxBundleFiles {
			return nil, badBundle("%s in it is not from encfs", name)
		}
		if files[name], err = io.ReadAll(archive); err != nil {
			return nil, bundleReadError(err)
		}
	}
}

// bundleReadError tells a file that cannot be read from one that is no bundle.
func bundleReadError(err error) error {
	if errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, tar.ErrFieldTooLong) {
		return badBundle("%w", err)
	}
	return err
}

// checkSums checks that the files are those of which the sums are there, with these sums,
// and takes the sums out.
func checkSums(files map[string][]byte) error {
	sums, ok := files[bundleSums]
	if !ok {
		return badBundle("%s is missing", bundleSums)
	}
	delete(files, bundleSums)
	seen := 0
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		contents, ok := files[name]
		if !ok {
			return badBundle("%s is missing", name)
		}
		if got := sha256.Sum256(contents); hex.EncodeToString(got[:]) != sum {
			return badBundle("%s has another checksum", name)
		}
		seen++
	}
	if seen != len(files) {
		return badBundle("it has %d files and %d checksums", len(files), seen)
	}
	return nil
}
