package test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A layer is what a package's ordinary files may import of the module.
type layer struct {
	pkg       string
	mayImport []string
}

// layers says for each package of the module which others its ordinary files
// may import; it is the map of docs/ARCHITECTURE.md. The first line that fits
// a package counts. A pattern "x/..." stands for x and all below it.
var layers = []layer{
	{"cpufeat", nil},
	{"histogram", nil},
	{"keys/...", []string{"keys/..."}},   // never decrypt: keys knows secrets, not ciphers
	{"workqueue", []string{"histogram"}}, // neither bytes nor files
	{"workqueue/simulate", []string{"workqueue"}},
	{"decrypt/...", []string{"decrypt/...", "keys", "cpufeat"}}, // never keys/metadata: where a key came from
	{"fs/store/...", []string{"fs/store/..."}},
	{"fs/dirstore/...", []string{"fs/store", "fs/dirstore/..."}}, // a store never sees a key
	{"fs/ext4/...", []string{"fs/store", "fs/ext4/..."}},
	{"fs/disk/...", []string{"fs/disk/..."}},
	{"fs/casefold", nil},
	{"fs", []string{"fs/store", "fs/casefold", "decrypt", "keys", "cpufeat", "workqueue", "histogram"}},
	{"cmd/...", []string{"..."}},
	{"test/...", []string{"..."}},
}

// outside says which packages may import what is not ours and shapes a
// program. It holds for test files too.
var outside = []struct {
	path      string // a module
	importers []string
}{
	{"github.com/hanwen/go-fuse/v2", []string{"fs", "cmd/encfs/...", "test/..."}},
	{"github.com/spf13/cobra", []string{"cmd/encfs/..."}},
	{"github.com/emmansun/gmsm", []string{"decrypt"}},
	{"gonum.org/v1/plot", []string{"cmd/encfs/internal/htmlreport"}},
}

const module = "encfs"

// A listedPackage is what "go list -json" says of a package.
type listedPackage struct {
	ImportPath   string
	Imports      []string
	TestImports  []string // of the _test.go files within the package
	XTestImports []string // of those in the package beside it
}

func TestImports(t *testing.T) {
	// The files that count, and so the imports, differ by machine.
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			pkgs, err := listPackages(arch)
			if err != nil {
				t.Fatal(err)
			}
			if len(pkgs) == 0 {
				t.Fatal("go list knows no package")
			}
			for _, complaint := range checkImports(pkgs) {
				t.Error(complaint)
			}
		})
	}
}

func TestCheckImports(t *testing.T) {
	const (
		gofuse = "github.com/hanwen/go-fuse/v2/fuse"
		cobra  = "github.com/spf13/cobra"
	)
	for _, tt := range []struct {
		name string
		pkg  listedPackage
		want string // "" if there is nothing to complain of
	}{
		{"allowed edge", listedPackage{ImportPath: "encfs/decrypt", Imports: []string{"encfs/keys", "encfs/cpufeat", "crypto/aes"}}, ""},
		{"keys knows a cipher", listedPackage{ImportPath: "encfs/keys", Imports: []string{"encfs/decrypt"}}, "encfs/keys must not import encfs/decrypt"},
		{"metadata knows a cipher", listedPackage{ImportPath: "encfs/keys/metadata", Imports: []string{"encfs/decrypt"}}, "encfs/keys/metadata must not import encfs/decrypt"},
		{"decrypt knows a protector", listedPackage{ImportPath: "encfs/decrypt", Imports: []string{"encfs/keys/metadata"}}, "encfs/decrypt must not import encfs/keys/metadata"},
		{"queue knows files", listedPackage{ImportPath: "encfs/workqueue", Imports: []string{"encfs/fs/store"}}, "encfs/workqueue must not import encfs/fs/store"},
		{"store sees a key", listedPackage{ImportPath: "encfs/fs/dirstore", Imports: []string{"encfs/keys"}}, "encfs/fs/dirstore must not import encfs/keys"},
		{"store imports upwards", listedPackage{ImportPath: "encfs/fs/ext4", Imports: []string{"encfs/fs"}}, "encfs/fs/ext4 must not import encfs/fs"},
		{"one store imports another", listedPackage{ImportPath: "encfs/fs/ext4", Imports: []string{"encfs/fs/dirstore"}}, "encfs/fs/ext4 must not import encfs/fs/dirstore"},
		{"the volume picks a store", listedPackage{ImportPath: "encfs/fs", Imports: []string{"encfs/fs/dirstore"}}, "encfs/fs must not import encfs/fs/dirstore"},
		{"a test may", listedPackage{ImportPath: "encfs/fs", TestImports: []string{"encfs/fs/dirstore"}}, ""},
		{"name that begins alike", listedPackage{ImportPath: "encfs/decrypt", Imports: []string{"encfs/keysmith"}}, "encfs/decrypt must not import encfs/keysmith"},
		{"not in the map", listedPackage{ImportPath: "encfs/util"}, "encfs/util is not in the map of layers"},
		{"FUSE in fs", listedPackage{ImportPath: "encfs/fs", Imports: []string{gofuse}}, ""},
		{"FUSE in a store", listedPackage{ImportPath: "encfs/fs/dirstore", Imports: []string{gofuse}}, "encfs/fs/dirstore must not import " + gofuse},
		{"FUSE in a test of keys", listedPackage{ImportPath: "encfs/keys", XTestImports: []string{gofuse}}, "encfs/keys must not import " + gofuse},
		{"Cobra in the command", listedPackage{ImportPath: "encfs/cmd/encfs", Imports: []string{cobra, "encfs/fs"}}, ""},
		{"Cobra in fs", listedPackage{ImportPath: "encfs/fs", Imports: []string{cobra}}, "encfs/fs must not import " + cobra},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Join(checkImports([]listedPackage{tt.pkg}), "\n")
			if got != tt.want {
				t.Errorf("complaints:\n got %q\nwant %q", got, tt.want)
			}
		})
	}
}

// checkImports returns a line for each import that the map does not have.
func checkImports(pkgs []listedPackage) []string {
	var complaints []string
	for _, p := range pkgs {
		own := strings.TrimPrefix(p.ImportPath, module+"/")
		i := slices.IndexFunc(layers, func(l layer) bool { return match(l.pkg, own) })
		if i < 0 {
			complaints = append(complaints, p.ImportPath+" is not in the map of layers")
			continue
		}
		for _, imported := range p.Imports {
			if path, ours := strings.CutPrefix(imported, module+"/"); ours && !matchAny(layers[i].mayImport, path) {
				complaints = append(complaints, p.ImportPath+" must not import "+imported)
			}
		}
		for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			for _, o := range outside {
				if match(o.path+"/...", imported) && !matchAny(o.importers, own) {
					complaints = append(complaints, p.ImportPath+" must not import "+imported)
				}
			}
		}
	}
	return complaints
}

func matchAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, path) })
}

// match reports whether a path fits a pattern as in layers.
func match(pattern, path string) bool {
	if pattern == "..." {
		return true
	}
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == base || strings.HasPrefix(path, base+"/")
	}
	return path == pattern
}

// listPackages returns the packages of the module as they are for an
// architecture.
func listPackages(arch string) ([]listedPackage, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", module+"/...")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch)
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			os.Stderr.Write(exit.Stderr)
		}
		return nil, err
	}
	var pkgs []listedPackage
	dec := json.NewDecoder(bytes.NewReader(out))
	for {
		var p listedPackage
		err := dec.Decode(&p)
		if err == io.EOF {
			return pkgs, nil
		}
		if err != nil {
			return nil, err
		}
		pkgs = append(pkgs, p)
	}
}
