package keys

import (
	"strings"
	"testing"
)

// The table of fscrypt_modes in fs/crypto/keysetup.c.
func TestModes(t *testing.T) {
	tests := []struct {
		mode            Mode
		name, algorithm string
		key, iv, least  int
	}{
		{1, "aes-256-xts", "xts(aes)", 64, 16, 32},
		{4, "aes-256-cts", "cts(cbc(aes))", 32, 16, 32},
		{5, "aes-128-cbc-essiv", "essiv(cbc(aes),sha256)", 16, 16, 16},
		{6, "aes-128-cts", "cts(cbc(aes))", 16, 16, 16},
		{7, "sm4-xts", "xts(sm4)", 32, 16, 16},
		{8, "sm4-cts", "cts(cbc(sm4))", 16, 16, 16},
		{9, "adiantum", "adiantum(xchacha12,aes)", 32, 32, 32},
		{10, "aes-256-hctr2", "hctr2(aes)", 32, 32, 32},
	}
	known := map[Mode]bool{}
	if got := len(Modes()); got != len(tests) {
		t.Errorf("Modes has %d, want %d", got, len(tests))
	}
	for i, tt := range tests {
		if got := Modes()[i]; got != tt.mode {
			t.Errorf("Modes()[%d] = %v, want %v", i, got, tt.mode)
		}
		known[tt.mode] = true
		m := tt.mode
		if !m.Known() || m.Algorithm() != tt.algorithm || m.KeySize() != tt.key || m.IVSize() != tt.iv || m.Strength() != tt.least {
			t.Errorf("%v: %v %q key %d, IV %d, strength %d; want %+v", m, m.Known(), m.Algorithm(), m.KeySize(), m.IVSize(), m.Strength(), tt)
		}
		for _, name := range []string{tt.name, strings.ToUpper(tt.name), m.String()} {
			if got, err := ParseMode(name); err != nil || got != m {
				t.Errorf("ParseMode(%q) = %v, %v, want %v", name, got, err, m)
			}
		}
	}
	for i := range 256 {
		if m := Mode(i); !known[m] && (m.Known() || m.Algorithm() != "" || m.KeySize() != 0 || m.IVSize() != 0 || m.Strength() != 0) {
			t.Errorf("%v is known", m)
		}
	}
	if got, want := Mode(99).String(), "mode 99"; got != want {
		t.Errorf("String = %q, want %q", got, want)
	}
	for _, name := range []string{"", "aes", "aes-256-xts ", "mode 2", "aes-256-gcm"} {
		_, err := ParseMode(name)
		wantErr(t, err, ErrUnknownMode)
		if err != nil && !strings.Contains(err.Error(), "aes-256-hctr2") {
			t.Errorf("ParseMode(%q): %v does not list the known modes", name, err)
		}
	}
}
