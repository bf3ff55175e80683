package fs_test

import (
	"errors"
	"testing"

	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/keys"
)

func TestPoliciesOfATree(t *testing.T) {
	xts := keys.Policy{Version: 2, Contents: keys.AES256XTS, Filenames: keys.AES256CTS, Flags: keys.FlagPad32}
	with := func(p keys.Policy, change func(*keys.Policy)) keys.Policy { change(&p); return p }
	adiantum := with(xts, func(p *keys.Policy) { p.Contents, p.Filenames = keys.Adiantum, keys.Adiantum })
	for _, tt := range []struct {
		name   string
		policy keys.Policy
		ok     bool
	}{
		{"data unit size left out", xts, true},
		{"4096 bytes", with(xts, func(p *keys.Policy) { p.Log2DataUnitSize = 12 }), true},
		{"512 bytes", with(xts, func(p *keys.Policy) { p.Log2DataUnitSize = 9 }), false},
		{"8192 bytes", with(xts, func(p *keys.Policy) { p.Log2DataUnitSize = 13 }), false},
		{"DIRECT_KEY", with(adiantum, func(p *keys.Policy) { p.Flags |= keys.FlagDirectKey }), false},
		{"IV_INO_LBLK_64", with(xts, func(p *keys.Policy) { p.Flags |= keys.FlagIVInoLblk64 }), false},
		{"IV_INO_LBLK_32", with(xts, func(p *keys.Policy) { p.Flags |= keys.FlagIVInoLblk32 }), false},
		{"a flag that nobody knows", with(xts, func(p *keys.Policy) { p.Flags |= 0x80 }), false},
		{"modes that do not go together", with(xts, func(p *keys.Policy) { p.Filenames = keys.Adiantum }), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := testKey(t, "test")
			ring := new(keys.Keyring)
			ring.Add(k)
			defer ring.Close()
			tt.policy.Identifier = k.Identifier()
			auth := fs.NewHeaderAuthenticator(k)
			dir := t.TempDir()
			if err := dirstore.Create(dir, keys.Context{Policy: tt.policy}.Marshal(), auth); err != nil {
				t.Fatal(err)
			}
			st, err := dirstore.Open(dir, dirstore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			if err := st.Unlock(auth); err != nil {
				t.Fatal(err)
			}
			_, err = fs.NewVolume(st, ring, fs.Options{})
			if tt.ok && err != nil || !tt.ok && !errors.Is(err, keys.ErrUnsupportedPolicy) {
				t.Errorf("NewVolume = %v, want it to be taken: %v", err, tt.ok)
			}
		})
	}
}
