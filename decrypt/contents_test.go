package decrypt

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"encfs/keys"
)

// partner gives each mode a policy: the other mode of a pair that validates.
var partner = map[keys.Mode]keys.Policy{
	keys.AES256XTS:      {Contents: keys.AES256XTS, Filenames: keys.AES256CTS},
	keys.AES256CTS:      {Contents: keys.AES256XTS, Filenames: keys.AES256CTS},
	keys.AES128CBCESSIV: {Contents: keys.AES128CBCESSIV, Filenames: keys.AES128CTS},
	keys.AES128CTS:      {Contents: keys.AES128CBCESSIV, Filenames: keys.AES128CTS},
	keys.Adiantum:       {Contents: keys.Adiantum, Filenames: keys.Adiantum},
	keys.AES256HCTR2:    {Contents: keys.AES256XTS, Filenames: keys.AES256HCTR2},
}

// fileKey derives the key for mode from a master key.
func fileKey(t testing.TB, raw []byte, version uint8, mode keys.Mode, flags keys.Flags, nonce keys.Nonce, at keys.Place) *keys.FileKey {
	t.Helper()
	master, err := keys.NewMasterKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	policy := partner[mode]
	policy.Version, policy.Flags = version, flags
	k, err := master.FileKey(keys.Context{Policy: policy, Nonce: nonce}, mode, at)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// testFileKey is some key for mode.
func testFileKey(t testing.TB, mode keys.Mode) *keys.FileKey {
	return fileKey(t, randBytes(testRand(7), 64), 2, mode, 0, keys.Nonce{1, 2, 3}, keys.Place{})
}

// forEachMode runs f for each driver of each of the modes.
func forEachMode(t *testing.T, modes []keys.Mode, f func(t *testing.T, d Driver, mode keys.Mode)) {
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			forEachDriver(t, mode.Algorithm(), func(t *testing.T, d Driver) { f(t, d, mode) })
		})
	}
}

var (
	contentsModes = []keys.Mode{keys.AES256XTS, keys.AES128CBCESSIV, keys.Adiantum}
	namesModes    = []keys.Mode{keys.AES256CTS, keys.AES128CTS, keys.AES256HCTR2, keys.Adiantum}
)

// From the master key to ciphertext, as a kernel's files have it.
func TestEndToEnd(t *testing.T) {
	for i, v := range loadVectors[struct {
		PolicyVersion uint8      `json:"policy_version"`
		Mode          keys.Mode  `json:"mode"`
		Flags         keys.Flags `json:"flags"`
		MasterKey     hexBytes   `json:"master_key"`
		Nonce         hexBytes   `json:"nonce"`
		UUID          hexBytes   `json:"fs_uuid"`
		Inode         uint64     `json:"inode"`
		UnitSize      int        `json:"data_unit_size"`
		Unit          uint64     `json:"data_unit_index"`
		Plaintext     hexBytes   `json:"plaintext"`
		Ciphertext    hexBytes   `json:"ciphertext"`
	}](t, "end-to-end.json") {
		name := fmt.Sprintf("%d-v%d-%v-flags%d-%dbytes", i, v.PolicyVersion, v.Mode, v.Flags, len(v.Plaintext))
		t.Run(name, func(t *testing.T) {
			forEachDriver(t, v.Mode.Algorithm(), func(t *testing.T, d Driver) {
				raw := v.MasterKey
				if v.PolicyVersion == 1 {
					// Some vectors have a master key that is enough for their mode but not
					// for its partner. Version 1 uses the first bytes alone.
					raw = resize(raw, 64)
				}
				at := keys.Place{UUID: [16]byte(v.UUID), Ino: v.Inode}
				k := fileKey(t, raw, v.PolicyVersion, v.Mode, v.Flags, keys.Nonce(v.Nonce), at)
				if v.UnitSize >= 512 {
					checkEndToEndContents(t, k, d, v.UnitSize, v.Unit, v.Plaintext, v.Ciphertext)
				} else {
					checkEndToEndName(t, k, d, v.Plaintext, v.Ciphertext)
				}
			})
		})
	}
}

func checkEndToEndContents(t *testing.T, k *keys.FileKey, d Driver, unitSize int, unit uint64, plain, cipher []byte) {
	c, err := NewContents(k, d, unitSize)
	if err != nil {
		t.Fatal(err)
	}
	k.Wipe() // as callers do
	got := bytes.Clone(cipher)
	c.DecryptUnits(got, got, unit)
	if !bytes.Equal(got, plain) {
		t.Errorf("DecryptUnits:\n got %x\nwant %x", got, plain)
	}
	c.EncryptUnits(got, got, unit)
	if !bytes.Equal(got, cipher) {
		t.Errorf("EncryptUnits:\n got %x\nwant %x", got, cipher)
	}
}

// checkEndToEndName takes a random padded name, which may contain NULs.
func checkEndToEndName(t *testing.T, k *keys.FileKey, d Driver, plain, cipher []byte) {
	n, err := NewNames(k, d, 16)
	if err != nil {
		t.Fatal(err)
	}
	k.Wipe()
	name, _, padded := bytes.Cut(plain, []byte{0})
	got, err := n.Decrypt(cipher)
	if err != nil || !bytes.Equal(got, name) {
		t.Errorf("Decrypt:\n got %x, %v\nwant %x", got, err, name)
	}
	if padded {
		return // what follows the NUL is not the padding that Encrypt makes
	}
	if got, err = n.Encrypt(plain, 255); err != nil || !bytes.Equal(got, cipher) {
		t.Errorf("Encrypt:\n got %x, %v\nwant %x", got, err, cipher)
	}
}

// Units are independent: many in one call are the same as one in each, and a short
// one at the end is a unit of its own.
func TestUnits(t *testing.T) {
	const unitSize = 512
	forEachMode(t, contentsModes, func(t *testing.T, d Driver, mode keys.Mode) {
		k := testFileKey(t, mode)
		c, err := NewContents(k, d, unitSize)
		if err != nil {
			t.Fatal(err)
		}
		if c.UnitSize() != unitSize {
			t.Errorf("UnitSize: got %d, want %d", c.UnitSize(), unitSize)
		}
		cipher := newTestCipher(t, d, k.Key())
		iv := make([]byte, mode.IVSize())
		for _, first := range []uint64{0, 1<<32 - 2, 1 << 40} { // the second grows past 32 bits
			for _, n := range []int{0, 16, 32, 496, 512, 528, 1008, 1024, 1040, 4 * 512, 4*512 + 16} {
				plain := randBytes(testRand(8), n)
				want := make([]byte, n)
				for i := 0; i < n; i += unitSize {
					k.PutIV(iv, first+uint64(i/unitSize))
					end := min(i+unitSize, n)
					cipher.Encrypt(want[i:end], plain[i:end], iv)
				}
				got, src := make([]byte, n), bytes.Clone(plain)
				c.EncryptUnits(got, src, first)
				if !bytes.Equal(got, want) {
					t.Errorf("EncryptUnits of %d bytes from unit %d:\n got %x\nwant %x", n, first, got, want)
				}
				if !bytes.Equal(src, plain) {
					t.Errorf("EncryptUnits of %d bytes changed src", n)
				}
				c.DecryptUnits(got, got, first)
				if !bytes.Equal(got, plain) {
					t.Errorf("DecryptUnits of %d bytes from unit %d:\n got %x\nwant %x", n, first, got, plain)
				}
			}
		}
	})
}

func TestContentsConcurrent(t *testing.T) {
	forEachMode(t, contentsModes, func(t *testing.T, d Driver, mode keys.Mode) {
		const unitSize, units = 512, 16
		c, err := NewContents(testFileKey(t, mode), d, unitSize)
		if err != nil {
			t.Fatal(err)
		}
		plain := randBytes(testRand(9), units*unitSize)
		data := make([]byte, len(plain))
		c.EncryptUnits(data, plain, 0)
		var wg sync.WaitGroup
		for i := range units {
			wg.Go(func() {
				unit := data[i*unitSize:][:unitSize:unitSize]
				c.DecryptUnits(unit, unit, uint64(i))
			})
		}
		wg.Wait()
		if !bytes.Equal(data, plain) {
			t.Error("units decrypted at the same time differ from the plaintext")
		}
	})
}

func TestContentsAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop objects, which are then allocated anew")
	}
	forEachMode(t, contentsModes, func(t *testing.T, d Driver, mode keys.Mode) {
		c, err := NewContents(testFileKey(t, mode), d, 512)
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, 3*512+16)
		if got := testing.AllocsPerRun(100, func() { c.DecryptUnits(data, data, 5) }); got != 0 {
			t.Errorf("DecryptUnits: %v allocations", got)
		}
		if got := testing.AllocsPerRun(100, func() { c.EncryptUnits(data, data, 5) }); got != 0 {
			t.Errorf("EncryptUnits: %v allocations", got)
		}
	})
}

func TestContentsMistakes(t *testing.T) {
	forEachMode(t, contentsModes, func(t *testing.T, d Driver, mode keys.Mode) {
		k := testFileKey(t, mode)
		for _, size := range []int{-16, 0, 1, 15, 17, 4095} {
			wantPanic(t, fmt.Sprintf("data units of %d bytes", size), func() { NewContents(k, d, size) })
		}
		c, err := NewContents(k, d, 64)
		if err != nil {
			t.Fatal(err)
		}
		memory := make([]byte, 256)
		for _, m := range []struct {
			name     string
			dst, src []byte
		}{
			{"less than a block", memory[:15], memory[:15]},
			{"block and a byte", memory[:17], memory[:17]},
			{"unit and a byte", memory[:65], memory[:65]},
			{"unit and less than a block", memory[:79], memory[:79]},
			{"short dst", memory[:64], memory[:128]},
			{"long dst", memory[:128], memory[:64]},
			{"no src", memory[:64], nil},
			{"overlap by a unit", memory[64:192], memory[:128]},
		} {
			wantPanic(t, "DecryptUnits: "+m.name, func() { c.DecryptUnits(m.dst, m.src, 0) })
			if len(bytes.Trim(memory, "\x00")) != 0 {
				t.Fatalf("DecryptUnits, %s: wrote data", m.name)
			}
			wantPanic(t, "EncryptUnits: "+m.name, func() { c.EncryptUnits(m.dst, m.src, 0) })
			if len(bytes.Trim(memory, "\x00")) != 0 {
				t.Fatalf("EncryptUnits, %s: wrote data", m.name)
			}
		}
	})
}

// A driver of another algorithm is told apart even where its keys have the same
// length.
func TestDriverOfAnotherAlgorithm(t *testing.T) {
	modes := slices.Concat(contentsModes, namesModes)
	for _, mode := range modes {
		k := testFileKey(t, mode)
		for _, d := range runnableDrivers() {
			c, errContents := NewContents(k, d, 4096)
			n, errNames := NewNames(k, d, 4)
			if d.Algorithm == mode.Algorithm() {
				if errContents != nil || errNames != nil {
					t.Errorf("%s for %v: %v, %v", d.Name, mode, errContents, errNames)
				}
				continue
			}
			if c != nil || n != nil || !errors.Is(errContents, ErrAlgorithm) || !errors.Is(errNames, ErrAlgorithm) {
				t.Errorf("%s for %v: got %v, %v, want ErrAlgorithm", d.Name, mode, errContents, errNames)
			}
		}
	}
}
