//go:build !purego && amd64

package decrypt

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What aes_bs_gen.go writes is what is there.
func TestGenerated(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	dir := t.TempDir()
	if out, err := exec.Command("go", "run", "aes_bs_gen.go", dir).CombinedOutput(); err != nil {
		t.Fatalf("go run aes_bs_gen.go: %v\n%s", err, out)
	}
	for _, name := range []string{"aes_bs_ssse3_amd64.s", "aes_bs_avx2_amd64.s"} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what aes_bs_gen.go writes (%v)", name, err)
		}
	}
}
