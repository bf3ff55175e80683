package metadata

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"encfs/keys"
	"encfs/keys/metadata/internal/pb"
)

func mustPanic(t *testing.T, name string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if recover() == nil {
			t.Errorf("%s: no panic", name)
		}
	}()
	f()
}

func TestRewrap(t *testing.T) {
	v := toolCaseOf(t, "tool-v1").Protectors[0]
	p, err := parseProtector(v.Descriptor, v.File)
	if err != nil {
		t.Fatal(err)
	}
	key := newSecret(t, v.ProtectorKey)
	before := proto.Clone(p.data).(*pb.ProtectorData)
	costs := Costs{2, 128, 1}
	secret := newSecret(t, []byte("new"))
	if err := p.Rewrap(key, secret, costs); err != nil {
		t.Fatal(err)
	}
	if p.Descriptor() != v.Descriptor || p.Name() != before.Name || p.Source() != CustomPassphrase || p.Costs() != costs || !p.data.Costs.TruncationFixed {
		t.Errorf("after Rewrap: %v", p.data)
	}
	if bytes.Equal(p.data.Salt, before.Salt) || bytes.Equal(p.data.WrappedKey.IV, before.WrappedKey.IV) {
		t.Error("salt or IV is used again")
	}
	got, err := p.Unlock(secret)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	wantBytes(t, "protector key", got.Bytes(), v.ProtectorKey)
	_, err = p.Unlock(v.secret(t))
	wantErr(t, err, ErrWrongSecret)

	// What fails changes nothing.
	after := proto.Clone(p.data)
	wantErr(t, p.Rewrap(key, secret, Costs{}), ErrCosts)
	if !proto.Equal(p.data, after) {
		t.Error("a Rewrap that fails changes the protector")
	}
	mustPanic(t, "key of another protector", func() { p.Rewrap(newSecret(t, pattern(32)), secret, costs) })

	v = toolCaseOf(t, "tool-raw-key").Protectors[0]
	p, err = parseProtector(v.Descriptor, v.File)
	if err != nil {
		t.Fatal(err)
	}
	key = newSecret(t, v.ProtectorKey)
	for _, n := range []int{1, 31, 33, 64} {
		wantErr(t, p.Rewrap(key, newSecret(t, pattern(n)), Costs{}), keys.ErrKeySize)
	}
	if err := p.Rewrap(key, newSecret(t, pattern(32)), Costs{}); err != nil {
		t.Fatal(err)
	}
	got, err = p.Unlock(newSecret(t, pattern(32)))
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	wantBytes(t, "protector key", got.Bytes(), v.ProtectorKey)
	if p.data.Costs != nil || p.data.Salt != nil {
		t.Error("a raw key has costs or salt")
	}
}

// Fields that a newer fscrypt tool may write survive a change.
func TestUnknownFieldsStay(t *testing.T) {
	c := toolCaseOf(t, "tool-raw-key")
	extra := []byte{15<<3 | 2, 3, 'n', 'e', 'w'}
	v := c.Protectors[0]
	p, err := parseProtector(v.Descriptor, append(bytes.Clone(v.File), extra...))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Rewrap(newSecret(t, v.ProtectorKey), newSecret(t, pattern(32)), Costs{}); err != nil {
		t.Fatal(err)
	}
	if b, err := proto.Marshal(p.data); err != nil || !bytes.Contains(b, extra) {
		t.Errorf("protector %x, %v, lost %x", b, err, extra)
	}
}

func TestPolicyProtectors(t *testing.T) {
	k1, k2 := newSecret(t, pattern(32)), newSecret(t, bytes.Repeat([]byte{7}, 32))
	d1, d2 := descriptorOf(k1.Bytes()), descriptorOf(k2.Bytes())
	master := newMasterKey(t, pattern(64))
	for _, version := range []int{1, 2} {
		p, err := NewPolicy(master, Options{4, keys.Adiantum, keys.Adiantum, version}, k1)
		if err != nil {
			t.Fatal(err)
		}
		opens := func(want ...string) {
			t.Helper()
			if got := p.Protectors(); !slices.Equal(got, want) {
				t.Errorf("Protectors = %v, want %v", got, want)
			}
			for d, k := range map[string]*keys.Secret{d1: k1, d2: k2} {
				got, err := p.Unlock(d, k)
				if !slices.Contains(want, d) {
					wantErr(t, err, ErrMissing)
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if got.Identifier() != master.Identifier() {
					t.Errorf("got %v, want %v", got, master)
				}
				got.Close()
			}
		}
		opens(d1)
		wantErr(t, p.RemoveProtector(d1), ErrLastProtector)
		wantErr(t, p.RemoveProtector(d2), ErrMissing)
		opens(d1)
		for range 2 { // adding it again replaces it
			if err := p.AddProtector(master, k2); err != nil {
				t.Fatal(err)
			}
			opens(d1, d2)
		}
		if err := p.RemoveProtector(d1); err != nil {
			t.Fatal(err)
		}
		opens(d2)

		mustPanic(t, "another master key", func() { p.AddProtector(newMasterKey(t, pattern(63)), k1) })
		mustPanic(t, "short protector key", func() { p.AddProtector(master, newSecret(t, pattern(31))) })
	}
}

func TestNewRefuses(t *testing.T) {
	k := newSecret(t, pattern(32))
	good := Options{32, keys.AES256XTS, keys.AES256CTS, 2}
	for _, n := range []int{16, 32, 63} {
		_, err := NewPolicy(newMasterKey(t, pattern(n)), good, k)
		wantErr(t, err, keys.ErrKeySize)
	}
	master := newMasterKey(t, pattern(64))
	mustPanic(t, "no protector", func() { NewPolicy(master, good) })
	for _, o := range []Options{
		{0, keys.AES256XTS, keys.AES256CTS, 2}, {64, keys.AES256XTS, keys.AES256CTS, 2},
		{32, keys.AES256XTS, keys.AES256XTS, 2}, {32, keys.AES256XTS, keys.AES256HCTR2, 1},
		{32, keys.AES256XTS, keys.AES256CTS, 0}, {32, keys.AES256XTS, keys.AES256CTS, 3}, {32, keys.AES256XTS, keys.AES256CTS, 258},
	} {
		_, err := NewPolicy(master, o, k)
		wantErr(t, err, keys.ErrUnsupportedPolicy)
	}
	if _, _, err := NewRawKeyProtector("", k); err == nil {
		t.Error("a protector without a name")
	}
	_, _, err := NewRawKeyProtector("x", newSecret(t, pattern(33)))
	wantErr(t, err, keys.ErrKeySize)
	_, _, err = NewPassphraseProtector("x", k, Costs{})
	wantErr(t, err, ErrCosts)
}

// One change in a sound file each.
func TestDamagedProtector(t *testing.T) {
	v := toolCaseOf(t, "tool-passphrase").Protectors[0]
	tests := []struct {
		name   string
		change func(*pb.ProtectorData)
	}{
		{"descriptor of another", func(d *pb.ProtectorData) { d.ProtectorDescriptor = "0123456789abcdef" }},
		{"no descriptor", func(d *pb.ProtectorData) { d.ProtectorDescriptor = "" }},
		{"no source", func(d *pb.ProtectorData) { d.Source = 0 }},
		{"unknown source", func(d *pb.ProtectorData) { d.Source = 4 }},
		{"source that is 1 modulo 256", func(d *pb.ProtectorData) { d.Source = 257 }},
		{"no costs", func(d *pb.ProtectorData) { d.Costs = nil }},
		{"no salt", func(d *pb.ProtectorData) { d.Salt = nil }},
		{"short salt", func(d *pb.ProtectorData) { d.Salt = d.Salt[1:] }},
		{"nothing wrapped", func(d *pb.ProtectorData) { d.WrappedKey = nil }},
		{"short IV", func(d *pb.ProtectorData) { d.WrappedKey.IV = d.WrappedKey.IV[1:] }},
		{"long IV", func(d *pb.ProtectorData) { d.WrappedKey.IV = append(d.WrappedKey.IV, 0) }},
		{"empty key", func(d *pb.ProtectorData) { d.WrappedKey.EncryptedKey = nil }},
		{"short key", func(d *pb.ProtectorData) { d.WrappedKey.EncryptedKey = d.WrappedKey.EncryptedKey[1:] }},
		{"long key", func(d *pb.ProtectorData) { d.WrappedKey.EncryptedKey = append(d.WrappedKey.EncryptedKey, 0) }},
		{"short HMAC", func(d *pb.ProtectorData) { d.WrappedKey.Hmac = d.WrappedKey.Hmac[:16] }},
		{"no HMAC", func(d *pb.ProtectorData) { d.WrappedKey.Hmac = nil }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := parseProtector(v.Descriptor, v.File)
			if err != nil {
				t.Fatal(err)
			}
			tt.change(p.data)
			b, err := proto.Marshal(p.data)
			if err != nil {
				t.Fatal(err)
			}
			_, err = parseProtector(v.Descriptor, b)
			wantErr(t, err, ErrDamaged)
		})
	}

	// The right secret, but the key of another protector in it.
	p, err := parseProtector(v.Descriptor, v.File)
	if err != nil {
		t.Fatal(err)
	}
	if p.data.WrappedKey, err = wrap(v.WrappingKey, pattern(32)); err != nil {
		t.Fatal(err)
	}
	_, err = p.Unlock(v.secret(t))
	wantErr(t, err, ErrDamaged)

	// Any bit of what is wrapped.
	for i := range (ivSize + protectorKeySize + hmacSize) * 8 {
		p, err := parseProtector(v.Descriptor, v.File)
		if err != nil {
			t.Fatal(err)
		}
		w := p.data.WrappedKey
		flip(i, w.IV, w.EncryptedKey, w.Hmac)
		if _, err := unwrap(v.WrappingKey, w); err != ErrWrongSecret {
			t.Fatalf("bit %d: error %v, want %v", i, err, ErrWrongSecret)
		}
	}
}

// flip changes bit i of the parts as if they were joined.
func flip(i int, parts ...[]byte) {
	for _, p := range parts {
		if i < 8*len(p) {
			p[i/8] ^= 1 << (i % 8)
			return
		}
		i -= 8 * len(p)
	}
}

func TestDamagedPolicy(t *testing.T) {
	c := toolCaseOf(t, "tool-two-protectors")
	v, u := c.Policies[0], c.Protectors[0]
	first := func(d *pb.PolicyData) *pb.WrappedPolicyKey { return d.WrappedPolicyKeys[0] }
	tests := []struct {
		name   string
		change func(*pb.PolicyData)
	}{
		{"name of another", func(d *pb.PolicyData) { d.KeyDescriptor = "0123456789abcdef0123456789abcdef" }},
		{"no options", func(d *pb.PolicyData) { d.Options = nil }},
		{"version 1 with the name of version 2", func(d *pb.PolicyData) { d.Options.PolicyVersion = 1 }},
		{"version 3", func(d *pb.PolicyData) { d.Options.PolicyVersion = 3 }},
		{"version -1", func(d *pb.PolicyData) { d.Options.PolicyVersion = -1 }},
		{"padding 0", func(d *pb.PolicyData) { d.Options.Padding = 0 }},
		{"padding 5", func(d *pb.PolicyData) { d.Options.Padding = 5 }},
		{"mode -1", func(d *pb.PolicyData) { d.Options.Contents = -1 }},
		{"mode 257", func(d *pb.PolicyData) { d.Options.Filenames = 257 }},
		{"path for a protector", func(d *pb.PolicyData) { first(d).ProtectorDescriptor = "../../etc/passwd" }},
		{"no protector's name", func(d *pb.PolicyData) { first(d).ProtectorDescriptor = "" }},
		{"a protector twice", func(d *pb.PolicyData) {
			first(d).ProtectorDescriptor = d.WrappedPolicyKeys[1].ProtectorDescriptor
		}},
		{"nothing wrapped", func(d *pb.PolicyData) { first(d).WrappedKey = nil }},
		{"32 bytes wrapped", func(d *pb.PolicyData) { first(d).WrappedKey.EncryptedKey = make([]byte, 32) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := parsePolicy(v.Name, v.File)
			if err != nil {
				t.Fatal(err)
			}
			tt.change(p.data)
			b, err := proto.Marshal(p.data)
			if err != nil {
				t.Fatal(err)
			}
			_, err = parsePolicy(v.Name, b)
			wantErr(t, err, ErrDamaged)
		})
	}

	t.Run("modes that we do not know", func(t *testing.T) {
		p, err := parsePolicy(v.Name, v.File)
		if err != nil {
			t.Fatal(err)
		}
		p.data.Options.Contents = 11
		b, err := proto.Marshal(p.data)
		if err != nil {
			t.Fatal(err)
		}
		if p, err = parsePolicy(v.Name, b); err != nil || p.Options().Contents != 11 {
			t.Errorf("%v, want the mode to be shown", err)
		}
	})

	key := newSecret(t, u.ProtectorKey)
	t.Run("another master key", func(t *testing.T) {
		p, err := parsePolicy(v.Name, v.File)
		if err != nil {
			t.Fatal(err)
		}
		w, err := wrap(u.ProtectorKey, pattern(64))
		if err != nil {
			t.Fatal(err)
		}
		proto.Reset(p.wrapped(u.Descriptor))
		proto.Merge(p.wrapped(u.Descriptor), w)
		_, err = p.Unlock(u.Descriptor, key)
		wantErr(t, err, ErrDamaged)
	})
	t.Run("a bit of the wrapped key", func(t *testing.T) {
		for _, i := range []int{0, 127, 128, 128 + 511, 128 + 512, 128 + 512 + 255} {
			p, err := parsePolicy(v.Name, v.File)
			if err != nil {
				t.Fatal(err)
			}
			w := p.wrapped(u.Descriptor)
			flip(i, w.IV, w.EncryptedKey, w.Hmac)
			_, err = p.Unlock(u.Descriptor, key)
			wantErr(t, err, ErrDamaged)
		}
	})
}

func TestSourceString(t *testing.T) {
	for s, want := range map[Source]string{0: "source 0", 1: "pam_passphrase", 2: "custom_passphrase", 3: "raw_key", 4: "source 4"} {
		if got := fmt.Sprint(s); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got, want := s.Passphrase(), s == 1 || s == 2; got != want {
			t.Errorf("%v: Passphrase %v, want %v", s, got, want)
		}
	}
}

func FuzzParseProtector(f *testing.F) {
	for _, c := range toolCases(f) {
		for _, v := range c.Protectors {
			f.Add(v.Descriptor, []byte(v.File))
		}
	}
	secret := newSecret(f, pattern(32))
	f.Fuzz(func(t *testing.T, descriptor string, b []byte) {
		p, err := parseProtector(descriptor, b)
		if err != nil {
			wantErr(t, err, ErrDamaged)
			return
		}
		if p.Descriptor() != descriptor {
			t.Errorf("descriptor %q, want %q", p.Descriptor(), descriptor)
		}
		_ = p.Costs().Check()
		if c := p.Costs(); p.Source() == RawKey || c.Time == 1 && c.Memory < 100 {
			if key, err := p.Unlock(secret); err == nil {
				t.Errorf("opens with a secret of ours: %v", key)
			}
		}
		m, err := proto.Marshal(p.data)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseProtector(descriptor, m); err != nil {
			t.Errorf("what we write we do not read: %v", err)
		}
	})
}

func FuzzParsePolicy(f *testing.F) {
	for _, c := range toolCases(f) {
		for _, v := range c.Policies {
			f.Add(v.Name, []byte(v.File))
		}
	}
	key := newSecret(f, pattern(32))
	f.Fuzz(func(t *testing.T, name string, b []byte) {
		p, err := parsePolicy(name, b)
		if err != nil {
			wantErr(t, err, ErrDamaged)
			return
		}
		if !isPolicyName(p.Name()) || p.Name() != name {
			t.Errorf("policy %q as %q", p.Name(), name)
		}
		p.Options().policy()
		for _, d := range p.Protectors() {
			if !isDescriptor(d) {
				t.Errorf("protector %q", d)
			}
			if k, err := p.Unlock(d, key); err == nil {
				t.Errorf("opens with a key of ours: %v", k)
			}
		}
	})
}

func FuzzParseLink(f *testing.F) {
	f.Add([]byte("UUID=1a3a5041-d73d-4256-a6c8-6ed2807d861b\nPATH=/mnt/fixture-home\n"))
	f.Add([]byte("PATH="))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := parseLink(b)
		if err != nil {
			wantErr(t, err, ErrDamaged)
		} else if l == (Link{}) {
			t.Error("neither an error nor a link")
		}
	})
}
