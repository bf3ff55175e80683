package metadata

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"google.golang.org/protobuf/proto"

	"encfs/keys"
)

// A toolCase is what the fscrypt tool wrote on one file system; testdata/README.md
// says more.
type toolCase struct {
	Image      string
	Protectors []toolProtector
	Policies   []toolPolicy
}

type toolProtector struct {
	File          hexBytes
	Source        string
	Passphrase    string
	Salt          hexBytes
	Time          int64
	MemoryKiB     int64 `json:"memory_kib"`
	Parallelism   int64
	WrappingKey   hexBytes `json:"wrapping_key"`
	EncryptionKey hexBytes `json:"encryption_key"`
	MACKey        hexBytes `json:"mac_key"`
	ProtectorKey  hexBytes `json:"protector_key"`
	Descriptor    string
	LinkedFrom    string `json:"linked_from"`
}

// secret returns what opens the protector.
func (v toolProtector) secret(t testing.TB) *keys.Secret {
	if v.Passphrase != "" {
		return newSecret(t, []byte(v.Passphrase))
	}
	return newSecret(t, v.WrappingKey)
}

type toolPolicy struct {
	File        hexBytes
	Name        string
	UnwrappedBy int      `json:"unwrapped_by"`
	PolicyKey   hexBytes `json:"policy_key"`
}

type hexBytes []byte

func (h *hexBytes) UnmarshalText(b []byte) (err error) {
	*h, err = hex.DecodeString(string(b))
	return err
}

func toolCases(t testing.TB) []toolCase {
	t.Helper()
	b, err := os.ReadFile("testdata/fscrypt-tool-wrapping.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []toolCase }
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) == 0 {
		t.Fatal("no cases")
	}
	return file.Cases
}

func toolCaseOf(t testing.TB, image string) toolCase {
	t.Helper()
	for _, c := range toolCases(t) {
		if c.Image == image {
			return c
		}
	}
	t.Fatalf("no case %s", image)
	return toolCase{}
}

func newSecret(t testing.TB, b []byte) *keys.Secret {
	t.Helper()
	s, err := keys.CopySecret(b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func newMasterKey(t testing.TB, b []byte) *keys.MasterKey {
	t.Helper()
	k, err := keys.NewMasterKey(b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i%251 + 1)
	}
	return b
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error = %v, want %v", err, want)
	}
}

func wantBytes(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("%s:\n got %x\nwant %x", what, got, want)
	}
}

// Every value on the way from a secret to a master key, and back.
func TestToolVectors(t *testing.T) {
	for _, c := range toolCases(t) {
		t.Run(c.Image, func(t *testing.T) {
			protectorKeys := map[string]*keys.Secret{}
			for _, v := range c.Protectors {
				t.Run("protector "+v.Descriptor, func(t *testing.T) {
					protectorKeys[v.Descriptor] = newSecret(t, v.ProtectorKey)
					testToolProtector(t, v)
				})
			}
			for _, v := range c.Policies {
				t.Run("policy "+v.Name, func(t *testing.T) { testToolPolicy(t, c, v) })
			}
		})
	}
}

func testToolProtector(t *testing.T, v toolProtector) {
	p, err := parseProtector(v.Descriptor, v.File)
	if err != nil {
		t.Fatal(err)
	}
	if p.Descriptor() != v.Descriptor || p.Source().String() != v.Source {
		t.Errorf("protector %s of source %v, want %s of %s", p.Descriptor(), p.Source(), v.Descriptor, v.Source)
	}
	wrapping := []byte(v.WrappingKey)
	if p.Source().Passphrase() {
		if got, want := p.Costs(), (Costs{v.Time, v.MemoryKiB, v.Parallelism}); got != want {
			t.Errorf("Costs = %+v, want %+v", got, want)
		}
		wantBytes(t, "salt", p.data.Salt, v.Salt)
		s, err := p.Costs().hash([]byte(v.Passphrase), v.Salt)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		wantBytes(t, "wrapping key", s.Bytes(), v.WrappingKey)
	}
	both, encryption, mac, err := stretch(wrapping)
	if err != nil {
		t.Fatal(err)
	}
	defer both.Close()
	wantBytes(t, "encryption key", encryption, v.EncryptionKey)
	wantBytes(t, "MAC key", mac, v.MACKey)

	w, err := wrapWithIV(wrapping, v.ProtectorKey, p.data.WrappedKey.IV)
	if err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(w, p.data.WrappedKey) {
		t.Errorf("wrapped:\n got %v\nwant %v", w, p.data.WrappedKey)
	}
	key, err := p.Unlock(v.secret(t))
	if err != nil {
		t.Fatal(err)
	}
	defer key.Close()
	wantBytes(t, "protector key", key.Bytes(), v.ProtectorKey)
	if got := descriptorOf(v.ProtectorKey); got != v.Descriptor {
		t.Errorf("descriptor %s, want %s", got, v.Descriptor)
	}

	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(p.data)
	if err != nil {
		t.Fatal(err)
	}
	wantBytes(t, "file", b, v.File)

	for name, wrong := range map[string][]byte{
		"one bit":     append([]byte{v.secret(t).Bytes()[0] ^ 1}, v.secret(t).Bytes()[1:]...),
		"one less":    v.secret(t).Bytes()[1:],
		"one more":    append(bytes.Clone(v.secret(t).Bytes()), 0),
		"a line end":  append(bytes.Clone(v.secret(t).Bytes()), '\n'),
		"one byte":    {0},
		"another key": pattern(32),
	} {
		key, err := p.Unlock(newSecret(t, wrong))
		if key != nil {
			t.Errorf("%s: a key", name)
		}
		wantErr(t, err, ErrWrongSecret)
	}
}

func testToolPolicy(t *testing.T, c toolCase, v toolPolicy) {
	p, err := parsePolicy(v.Name, v.File)
	if err != nil {
		t.Fatal(err)
	}
	if p.Name() != v.Name {
		t.Errorf("Name = %s, want %s", p.Name(), v.Name)
	}
	if _, err := p.Options().policy(); err != nil {
		t.Errorf("Options %+v: %v", p.Options(), err)
	}
	if got := len(p.Protectors()); got != v.UnwrappedBy {
		t.Errorf("%d protectors, want %d", got, v.UnwrappedBy)
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(p.data)
	if err != nil {
		t.Fatal(err)
	}
	wantBytes(t, "file", b, v.File)

	unlocked := 0
	for _, u := range c.Protectors {
		k, err := p.Unlock(u.Descriptor, newSecret(t, u.ProtectorKey))
		if p.wrapped(u.Descriptor) == nil {
			wantErr(t, err, ErrMissing)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		unlocked++
		raw, err := k.Raw()
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		wantBytes(t, "policy key", raw.Bytes(), v.PolicyKey)

		w, err := wrapWithIV(u.ProtectorKey, v.PolicyKey, p.wrapped(u.Descriptor).IV)
		if err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(w, p.wrapped(u.Descriptor)) {
			t.Errorf("wrapped:\n got %v\nwant %v", w, p.wrapped(u.Descriptor))
		}
		_, err = p.Unlock(u.Descriptor, newSecret(t, pattern(32)))
		wantErr(t, err, ErrWrongSecret)
	}
	if unlocked != v.UnwrappedBy {
		t.Errorf("%d protectors open it, want %d", unlocked, v.UnwrappedBy)
	}
}
