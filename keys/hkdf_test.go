package keys

import (
	"bytes"
	"fmt"
	"testing"
)

func TestHKDFVectors(t *testing.T) {
	type vector struct {
		IKM, Info, OKM hexBytes
		Length         int
	}
	used := 0
	for i, v := range readVectors[vector](t, "hkdf-sha512.json") {
		if len(v.Info) == 0 {
			continue // fscrypt always has an info string
		}
		used++
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			prk := make([]byte, prkSize)
			hkdfExtract(prk, v.IKM)
			got := make([]byte, v.Length)
			n := len(v.Info) - 1
			for cut := range len(v.Info) { // the prefix, the context byte and the tail are joined
				hkdfExpand(got, prk, string(v.Info[:cut]), v.Info[cut], v.Info[cut+1:]...)
				if !bytes.Equal(got, v.OKM) {
					t.Fatalf("info cut at %d of %d:\n got %x\nwant %x", cut, n, got, []byte(v.OKM))
				}
			}
		})
	}
	if used == 0 {
		t.Error("no case has an info string")
	}
}

func TestKDFv2Vectors(t *testing.T) {
	type vector struct {
		What      string
		MasterKey hexBytes `json:"master_key"`
		Context   byte
		InfoTail  hexBytes `json:"info_tail"`
		Output    hexBytes
	}
	for _, v := range readVectors[vector](t, "fscrypt-kdf-v2.json") {
		t.Run(v.What, func(t *testing.T) {
			k := newMasterKey(t, v.MasterKey)
			got := make([]byte, len(v.Output))
			hkdfExpand(got, k.prk(), infoFscrypt, v.Context, v.InfoTail...)
			if !bytes.Equal(got, v.Output) {
				t.Errorf("context %d:\n got %x\nwant %x", v.Context, got, []byte(v.Output))
			}
			if v.Context == hkdfKeyIdentifier {
				if id := k.Identifier(); !bytes.Equal(id[:], v.Output) {
					t.Errorf("Identifier = %v, want %x", id, []byte(v.Output))
				}
			}
		})
	}
}

// The vectors have the outputs of HKDF; this is the way to them through FileKey.
func TestFileKeyV2Vectors(t *testing.T) {
	type vector struct {
		What      string
		MasterKey hexBytes `json:"master_key"`
		Context   byte
		InfoTail  hexBytes `json:"info_tail"`
		Output    hexBytes
	}
	seen := map[byte]int{}
	for _, v := range readVectors[vector](t, "fscrypt-kdf-v2.json") {
		var mode Mode
		var flags Flags
		var at Place
		var nonce Nonce
		switch v.Context {
		case hkdfPerFileKey:
			if _, err := fmt.Sscanf(v.What, "per-file key, mode %d", &mode); err != nil {
				t.Fatal(err)
			}
			nonce = Nonce(v.InfoTail)
		case hkdfDirectKey:
			flags, mode = FlagDirectKey, Mode(v.InfoTail[0])
		case hkdfIVInoLblk64Key, hkdfIVInoLblk32Key:
			flags, mode = FlagIVInoLblk64, Mode(v.InfoTail[0])
			if v.Context == hkdfIVInoLblk32Key {
				flags = FlagIVInoLblk32
			}
			at.UUID = [16]byte(v.InfoTail[1:])
		default:
			continue
		}
		p, ok := policyWith(mode, flags)
		if !ok {
			continue // no kernel takes such a policy
		}
		seen[v.Context]++
		t.Run(v.What, func(t *testing.T) {
			k := newMasterKey(t, v.MasterKey)
			f, err := k.FileKey(Context{Policy: p, Nonce: nonce}, mode, at)
			if len(v.MasterKey) < p.Contents.Strength() {
				wantErr(t, err, ErrKeySize)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Key(); !bytes.Equal(got, v.Output) {
				t.Errorf("Key:\n got %x\nwant %x", got, []byte(v.Output))
			}
			if f.Mode() != mode {
				t.Errorf("Mode = %v, want %v", f.Mode(), mode)
			}
		})
	}
	for _, c := range []byte{hkdfPerFileKey, hkdfDirectKey, hkdfIVInoLblk64Key, hkdfIVInoLblk32Key} {
		if seen[c] == 0 {
			t.Errorf("no case for HKDF context %d", c)
		}
	}
}

// policyWith returns a valid v2 policy that has the mode and the flags.
func policyWith(mode Mode, flags Flags) (Policy, bool) {
	for _, q := range modePairs {
		p := Policy{Version: 2, Contents: q.contents, Filenames: q.filenames, Flags: flags}
		if (mode == q.contents || mode == q.filenames) && p.Validate() == nil {
			return p, true
		}
	}
	return Policy{}, false
}

// The directory format's keys have an info string that no key of fscrypt has.
// Computed with hmac of the Python standard library.
func TestDeriveDirectory(t *testing.T) {
	k := newMasterKey(t, pattern(64))
	for purpose, want := range map[DirectoryPurpose]string{
		HeaderTags:  "fa24570597e1c658bc993df91ec9baba7dacff7648549bb26334df5b24264b9f",
		XattrNames:  "f48f19c9f9eafd4954840fd3924f1cd9f6cc1e777254061aa6155de37096617d",
		XattrValues: "8526bf4f410e33d8e2faf89f50c782b05d0760f54ab3cdcdd19a04e422e1eb01",
	} {
		got := make([]byte, DirectoryKeySize)
		k.DeriveDirectory(purpose, got)
		if !bytes.Equal(got, unhex(want)) {
			t.Errorf("purpose %d:\n got %x\nwant %s", purpose, got, want)
		}
	}
	mustPanic(t, "short output", func() { k.DeriveDirectory(HeaderTags, make([]byte, 31)) })
	mustPanic(t, "purpose 0", func() { k.DeriveDirectory(0, make([]byte, 32)) })
	mustPanic(t, "purpose 4", func() { k.DeriveDirectory(4, make([]byte, 32)) })
	k.Close()
	mustPanic(t, "closed", func() { k.DeriveDirectory(HeaderTags, make([]byte, 32)) })
}
