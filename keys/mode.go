package keys

import (
	"errors"
	"fmt"
	"strings"
)

// A Mode is an encryption mode of fscrypt: a cipher and the way it is used. The
// numbers are those of FSCRYPT_MODE_* in include/uapi/linux/fscrypt.h, which
// contexts store in one byte. 2 and 3 were never used.
type Mode uint8

// The modes. Which pairs of contents and filenames modes a policy may have is
// [Policy.Validate]'s matter.
const (
	AES256XTS      Mode = 1  // contents
	AES256CTS      Mode = 4  // file names
	AES128CBCESSIV Mode = 5  // contents
	AES128CTS      Mode = 6  // file names
	SM4XTS         Mode = 7  // contents
	SM4CTS         Mode = 8  // file names
	Adiantum       Mode = 9  // contents and file names
	AES256HCTR2    Mode = 10 // file names
)

// ErrUnknownMode means a mode that this package does not know.
var ErrUnknownMode = errors.New("unknown encryption mode")

// modeInfo is what fscrypt_modes in fs/crypto/keysetup.c says about a mode.
type modeInfo struct {
	name      string
	algorithm string // as the Linux crypto API names it
	keySize   int    // bytes
	ivSize    int    // bytes
	strength  int    // bytes
}

var modes = [...]modeInfo{
	AES256XTS:      {"AES-256-XTS", "xts(aes)", 64, 16, 32},
	AES256CTS:      {"AES-256-CTS", "cts(cbc(aes))", 32, 16, 32},
	AES128CBCESSIV: {"AES-128-CBC-ESSIV", "essiv(cbc(aes),sha256)", 16, 16, 16},
	AES128CTS:      {"AES-128-CTS", "cts(cbc(aes))", 16, 16, 16},
	SM4XTS:         {"SM4-XTS", "xts(sm4)", 32, 16, 16},
	SM4CTS:         {"SM4-CTS", "cts(cbc(sm4))", 16, 16, 16},
	Adiantum:       {"Adiantum", "adiantum(xchacha12,aes)", 32, 32, 32},
	AES256HCTR2:    {"AES-256-HCTR2", "hctr2(aes)", 32, 32, 32},
}

// Modes returns all modes, in the order of their numbers.
func Modes() []Mode {
	var all []Mode
	for m, info := range modes {
		if info.name != "" {
			all = append(all, Mode(m))
		}
	}
	return all
}

// info returns the zero modeInfo for an unknown mode.
func (m Mode) info() modeInfo {
	if int(m) >= len(modes) {
		return modeInfo{}
	}
	return modes[m]
}

// Known reports whether m is one of the modes above.
func (m Mode) Known() bool { return m.info().name != "" }

// String returns a name such as "AES-256-XTS", or "mode 99" if m is unknown.
func (m Mode) String() string {
	if !m.Known() {
		return fmt.Sprintf("mode %d", uint8(m))
	}
	return m.info().name
}

// Algorithm returns the name that the Linux crypto API has for the cipher, such
// as "xts(aes)", or "" if m is unknown.
func (m Mode) Algorithm() string { return m.info().algorithm }

// KeySize returns the length of the cipher's key in bytes, 0 if m is unknown.
func (m Mode) KeySize() int { return m.info().keySize }

// IVSize returns the length of an IV in bytes: 16 or 32, 0 if m is unknown.
func (m Mode) IVSize() int { return m.info().ivSize }

// Strength returns the security strength in bytes, which is what a v2 master
// key must have at least; 0 if m is unknown. It is less than KeySize for XTS,
// whose key is two.
func (m Mode) Strength() int { return m.info().strength }

// ParseMode returns the mode of a name as [Mode.String] gives it; case does not
// matter. The error for another name lists the known ones and is an
// [ErrUnknownMode].
func ParseMode(name string) (Mode, error) {
	var known []string
	for i, info := range modes {
		if info.name == "" {
			continue
		}
		if strings.EqualFold(info.name, name) {
			return Mode(i), nil
		}
		known = append(known, strings.ToLower(info.name))
	}
	return 0, fmt.Errorf("keys: %w %q; known are %s", ErrUnknownMode, name, strings.Join(known, ", "))
}
