package metadata

import (
	"bytes"
	"strings"
	"testing"
)

// What Marshal returns is what is in the file, and is read as such.
func TestMarshal(t *testing.T) {
	for _, c := range toolCases(t) {
		for _, v := range c.Policies {
			p, err := ParsePolicy(v.Name, v.File)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := p.Marshal(); err != nil || !bytes.Equal(b, v.File) {
				t.Errorf("policy %s: %v\n got %x\nwant %x", v.Name, err, b, v.File)
			}
			_, err = ParsePolicy(strings.Repeat("0", len(v.Name)), v.File)
			wantErr(t, err, ErrDamaged)
			_, err = ParsePolicy(v.Name, nil)
			wantErr(t, err, ErrDamaged)
		}
		for _, v := range c.Protectors {
			p, err := ParseProtector(v.Descriptor, v.File)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := p.Marshal(); err != nil || !bytes.Equal(b, v.File) {
				t.Errorf("protector %s: %v\n got %x\nwant %x", v.Descriptor, err, b, v.File)
			}
			for _, other := range []string{"", "0123456789abcdef", strings.ToUpper(v.Descriptor)} {
				_, err := ParseProtector(other, v.File)
				wantErr(t, err, ErrDamaged)
			}
		}
	}
}
