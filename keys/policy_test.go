package keys

import (
	"fmt"
	"testing"
)

// Every pair of modes, in both versions. The lists are the kernel's answers to
// FS_IOC_SET_ENCRYPTION_POLICY.
func TestValidatePairs(t *testing.T) {
	type pair struct{ contents, filenames Mode }
	want := map[uint8]map[pair]bool{
		1: {{1, 4}: true, {5, 6}: true, {9, 9}: true},
		2: {{1, 4}: true, {1, 10}: true, {5, 6}: true, {7, 8}: true, {9, 9}: true},
	}
	for version := range uint8(5) {
		for c := range Mode(13) {
			for f := range Mode(13) {
				p := Policy{Version: version, Contents: c, Filenames: f}
				err := p.Validate()
				if ok := want[version][pair{c, f}]; ok && err != nil {
					t.Errorf("v%d (%d,%d): %v", version, c, f, err)
				} else if !ok {
					wantErr(t, err, ErrUnsupportedPolicy)
				}
			}
		}
	}
	err := Policy{Version: 2, Contents: 1, Filenames: 99}.Validate()
	wantErr(t, err, ErrUnknownMode)
}

// All flags with all valid pairs.
func TestValidateFlags(t *testing.T) {
	for i := range 256 {
		flags := Flags(i)
		for _, q := range modePairs {
			for version := q.since; version <= 2; version++ {
				p := Policy{Version: version, Contents: q.contents, Filenames: q.filenames, Flags: flags}
				want := false
				switch flags &^ 3 {
				case 0:
					want = true
				case 4:
					want = q.contents == Adiantum
				case 8, 16:
					want = version == 2 && q.contents == AES256XTS
				}
				if err := p.Validate(); want && err != nil {
					t.Errorf("%+v: %v", p, err)
				} else if !want {
					wantErr(t, err, ErrUnsupportedPolicy)
				}
			}
		}
	}
}

func TestValidateDataUnitSize(t *testing.T) {
	for i := range 256 {
		p := Policy{Version: 2, Contents: AES256XTS, Filenames: AES256CTS, Log2DataUnitSize: uint8(i)}
		if err := p.Validate(); (i == 0 || i >= 9 && i <= 16) != (err == nil) {
			t.Errorf("2^%d bytes: %v", i, err)
		}
		p.Version = 1
		if err := p.Validate(); (i == 0) != (err == nil) {
			t.Errorf("version 1, 2^%d bytes: %v", i, err)
		}
	}
}

func TestPadding(t *testing.T) {
	for i, want := range []int{4, 8, 16, 32} {
		for _, other := range []Flags{0, FlagDirectKey, FlagIVInoLblk32} {
			p := Policy{Flags: Flags(i) | other}
			if got := p.Padding(); got != want {
				t.Errorf("flags %#x: %d, want %d", p.Flags, got, want)
			}
		}
	}
}

func TestParseNames(t *testing.T) {
	id := Identifier(pattern(16))
	if got, err := ParseIdentifier(id.String()); err != nil || got != id {
		t.Errorf("ParseIdentifier(%q) = %v, %v", id, got, err)
	}
	d := Descriptor(pattern(8))
	if got, err := ParseDescriptor(d.String()); err != nil || got != d {
		t.Errorf("ParseDescriptor(%q) = %v, %v", d, got, err)
	}
	for _, s := range []string{"", "0", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeF", "../../..///../..", "0123456789abcdeg", "0123456789abcde\x00"} {
		if got, err := ParseDescriptor(s); err == nil {
			t.Errorf("ParseDescriptor(%q) = %v, want an error", s, got)
		}
		if got, err := ParseIdentifier(s + s); err == nil && len(s) != 16 {
			t.Errorf("ParseIdentifier(%q) = %v, want an error", s+s, got)
		}
	}
	if got, want := fmt.Sprint(Descriptor{0xab}), "ab00000000000000"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
