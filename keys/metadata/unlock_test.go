package metadata

import (
	"errors"
	"testing"

	"encfs/keys"
)

// Any protector that fits opens a policy; the others are no hindrance.
func TestUnlock(t *testing.T) {
	c := toolCaseOf(t, "tool-two-protectors") // first policy: both; second one: the passphrase alone
	raw, passphrase := c.Protectors[0], c.Protectors[1]
	without := func(name string) map[string][]byte {
		files := c.files()
		delete(files, name)
		return files
	}
	tests := []struct {
		name       string
		files      map[string][]byte
		policy     int
		secret     *keys.Secret
		passphrase bool
		want       string // descriptor
		err        error
	}{
		{"passphrase", c.files(), 0, passphrase.secret(t), true, passphrase.Descriptor, nil},
		{"raw key", c.files(), 0, raw.secret(t), false, raw.Descriptor, nil},
		{"passphrase alone", c.files(), 1, passphrase.secret(t), true, passphrase.Descriptor, nil},
		{"raw key for a passphrase", c.files(), 0, raw.secret(t), true, "", ErrWrongSecret},
		{"no protector of this kind", c.files(), 1, raw.secret(t), false, "", ErrWrongSecret},
		{"wrong passphrase", c.files(), 0, newSecret(t, []byte("wrong")), true, "", ErrWrongSecret},
		{"short raw key", c.files(), 0, newSecret(t, pattern(16)), false, "", ErrWrongSecret},
		{"other protector missing", without("protectors/" + raw.Descriptor), 0, passphrase.secret(t), true, passphrase.Descriptor, nil},
		{"the protector missing", without("protectors/" + passphrase.Descriptor), 0, passphrase.secret(t), true, "", ErrMissing},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := openMapFS(t, tt.files)
			policy, err := d.Policy(c.Policies[tt.policy].Name)
			if err != nil {
				t.Fatal(err)
			}
			master, p, err := d.Unlock(policy, tt.secret, tt.passphrase)
			if tt.err != nil {
				wantErr(t, err, tt.err)
				if errors.Is(tt.err, ErrMissing) && errors.Is(err, ErrWrongSecret) {
					t.Errorf("%v: nothing was tried", err)
				}
				if master != nil || p != nil {
					t.Errorf("a key with an error")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer master.Close()
			if p.Descriptor() != tt.want {
				t.Errorf("opened by %s, want %s", p.Descriptor(), tt.want)
			}
			if got := master.Identifier().String(); got != policy.Name() {
				t.Errorf("master key %s, want %s", got, policy.Name())
			}
		})
	}
}
