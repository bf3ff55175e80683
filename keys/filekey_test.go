package keys

import (
	"bytes"
	"fmt"
	"testing"
)

func TestIVVectors(t *testing.T) {
	type vector struct {
		Flags     Flags
		MasterKey hexBytes `json:"master_key"`
		Nonce     hexBytes
		Inode     uint64
		Unit      uint64 `json:"data_unit_index"`
		IV        hexBytes
	}
	seen := map[Flags]bool{}
	for i, v := range readVectors[vector](t, "iv.json") {
		t.Run(fmt.Sprintf("%d flags %#x", i, v.Flags), func(t *testing.T) {
			mode := AES256XTS
			if len(v.IV) == 32 {
				mode = Adiantum
			}
			p, ok := policyWith(mode, v.Flags)
			if !ok {
				t.Fatal("no policy has these flags")
			}
			seen[v.Flags] = true
			k := newMasterKey(t, v.MasterKey)
			f, err := k.FileKey(Context{Policy: p, Nonce: Nonce(v.Nonce)}, mode, Place{Ino: v.Inode})
			if err != nil {
				t.Fatal(err)
			}
			got := bytes.Repeat([]byte{0xee}, len(v.IV)) // what was there must go
			f.PutIV(got, v.Unit)
			if !bytes.Equal(got, v.IV) {
				t.Errorf("PutIV:\n got %x\nwant %x", got, []byte(v.IV))
			}
			f.Wipe()
			if !bytes.Equal(f.Key(), make([]byte, mode.KeySize())) {
				t.Error("key is there after Wipe")
			}
			f.PutIV(got, v.Unit)
			if !bytes.Equal(got, v.IV) {
				t.Errorf("PutIV after Wipe:\n got %x\nwant %x", got, []byte(v.IV))
			}
		})
	}
	for _, flags := range []Flags{0, FlagDirectKey, FlagIVInoLblk64, FlagIVInoLblk32} {
		if !seen[flags] {
			t.Errorf("no case with flags %#x", flags)
		}
	}
}

// Edges of the index, worked out by hand from the table of IVs in
// Documentation/filesystems/fscrypt.rst.
func TestPutIVEdges(t *testing.T) {
	nonce := Nonce(unhex("101112131415161718191a1b1c1d1e1f"))
	tests := []struct {
		name string
		f    FileKey
		unit uint64
		want string
	}{
		{"index of 64 bits", FileKey{mode: AES256XTS, rule: ivIndex}, 0x0102030405060708,
			"08070605040302010000000000000000"},
		{"long IV without nonce", FileKey{mode: AES256HCTR2, rule: ivIndex}, 1,
			"0100000000000000000000000000000000000000000000000000000000000000"},
		{"nonce, names", FileKey{mode: Adiantum, rule: ivNonce, nonce: nonce}, 0,
			"0000000000000000101112131415161718191a1b1c1d1e1f0000000000000000"},
		{"nonce, index of 64 bits", FileKey{mode: Adiantum, rule: ivNonce, nonce: nonce}, 1<<64 - 1,
			"ffffffffffffffff101112131415161718191a1b1c1d1e1f0000000000000000"},
		{"inode, names of HCTR2", FileKey{mode: AES256HCTR2, rule: ivInode, ino: 0x01020304}, 0,
			"0000000004030201000000000000000000000000000000000000000000000000"},
		{"inode, last index", FileKey{mode: AES256XTS, rule: ivInode, ino: 12}, 1<<32 - 1,
			"ffffffff0c0000000000000000000000"},
		{"inode, index wraps", FileKey{mode: AES256XTS, rule: ivInode, ino: 12}, 1<<32 + 5,
			"050000000c0000000000000000000000"},
		{"hash, last before it wraps", FileKey{mode: AES256XTS, rule: ivHashedInode, ino: 0xfffffffe}, 1,
			"ffffffff000000000000000000000000"},
		{"hash, sum wraps", FileKey{mode: AES256XTS, rule: ivHashedInode, ino: 0xfffffffe}, 2,
			"00000000000000000000000000000000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := bytes.Repeat([]byte{0xee}, tt.f.Mode().IVSize())
			tt.f.PutIV(got, tt.unit)
			if !bytes.Equal(got, unhex(tt.want)) {
				t.Errorf("got %x\nwant %s", got, tt.want)
			}
		})
	}
	f := FileKey{mode: AES256XTS}
	for _, n := range []int{0, 8, 15, 17, 32} {
		mustPanic(t, fmt.Sprint(n, " bytes"), func() { f.PutIV(make([]byte, n), 0) })
	}
}

func TestPutIVAllocates(t *testing.T) {
	for rule := ivIndex; rule <= ivHashedInode; rule++ {
		f := newFileKey(Adiantum)
		f.rule = rule
		iv := make([]byte, 32)
		if n := testing.AllocsPerRun(100, func() { f.PutIV(iv, 7) }); n != 0 {
			t.Errorf("rule %d: %v allocations, want 0", rule, n)
		}
	}
}

func TestSipHashVectors(t *testing.T) {
	type vector struct {
		Key, Message hexBytes
		Hash         string
	}
	for _, v := range readVectors[vector](t, "siphash-2-4.json") {
		if got := fmt.Sprintf("%016x", sipHash24((*[16]byte)(v.Key), v.Message)); got != v.Hash {
			t.Errorf("key %x, message %x: got %s, want %s", []byte(v.Key), []byte(v.Message), got, v.Hash)
		}
	}
}
