package keys

import (
	"bytes"
	"testing"
)

// Worked out by hand from struct fscrypt_context_v1 and _v2.
var contexts = []struct {
	name string
	hex  string
	want Context
}{
	{"v1", "01" + "01" + "04" + "03" + "0102030405060708" + "101112131415161718191a1b1c1d1e1f",
		Context{Policy{Version: 1, Contents: AES256XTS, Filenames: AES256CTS, Flags: FlagPad32,
			Descriptor: Descriptor{1, 2, 3, 4, 5, 6, 7, 8}},
			Nonce{0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f}}},
	{"v2", "02" + "09" + "09" + "05" + "0c" + "000000" + "202122232425262728292a2b2c2d2e2f" + "101112131415161718191a1b1c1d1e1f",
		Context{Policy{Version: 2, Contents: Adiantum, Filenames: Adiantum, Flags: FlagPad8 | FlagDirectKey, Log2DataUnitSize: 12,
			Identifier: Identifier{0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e, 0x2f}},
			Nonce{0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f}}},
	{"unknown modes and flags", "02" + "ff" + "fe" + "e0" + "ff" + "000000" + "00000000000000000000000000000000" + "00000000000000000000000000000000",
		Context{Policy: Policy{Version: 2, Contents: 255, Filenames: 254, Flags: 0xe0, Log2DataUnitSize: 255}}},
}

func TestContext(t *testing.T) {
	for _, tt := range contexts {
		t.Run(tt.name, func(t *testing.T) {
			b := unhex(tt.hex)
			got, err := ParseContext(b)
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("ParseContext:\n got %+v\nwant %+v", got, tt.want)
			}
			if m := got.Marshal(); !bytes.Equal(m, b) {
				t.Errorf("Marshal:\n got %x\nwant %x", m, b)
			}
		})
	}
	mustPanic(t, "Marshal of version 0", func() { Context{}.Marshal() })
}

func TestParseContextRefuses(t *testing.T) {
	v1, v2 := unhex(contexts[0].hex), unhex(contexts[1].hex)
	change := func(b []byte, at int, to byte) []byte {
		b = bytes.Clone(b)
		b[at] = to
		return b
	}
	tests := []struct {
		name string
		b    []byte
	}{
		{"nil", nil},
		{"version only", []byte{2}},
		{"v1 one less", v1[:27]},
		{"v1 one more", append(bytes.Clone(v1), 0)},
		{"v2 one less", v2[:39]},
		{"v2 one more", append(bytes.Clone(v2), 0)},
		{"v1 in the length of v2", change(v2, 0, 1)},
		{"v2 in the length of v1", change(v1, 0, 2)},
		{"version 0, as in the v1 ioctl", change(v1, 0, 0)},
		{"version 3", change(v2, 0, 3)},
		{"first reserved byte", change(v2, 5, 1)},
		{"second reserved byte", change(v2, 6, 0x80)},
		{"third reserved byte", change(v2, 7, 0xff)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseContext(tt.b)
			wantErr(t, err, ErrBadContext)
		})
	}
}

func FuzzParseContext(f *testing.F) {
	for _, tt := range contexts {
		f.Add(unhex(tt.hex))
		f.Add(unhex(tt.hex)[1:])
	}
	k := newMasterKey(f, pattern(64))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ParseContext(b)
		if err != nil {
			wantErr(t, err, ErrBadContext)
			return
		}
		if m := c.Marshal(); !bytes.Equal(m, b) {
			t.Errorf("Marshal:\n got %x\nwant %x", m, b)
		}
		// What a stored context says is an error at worst.
		for _, mode := range []Mode{c.Contents, c.Filenames} {
			fk, err := k.FileKey(c, mode, Place{Ino: 12})
			if (err == nil) != (c.Validate() == nil) {
				t.Errorf("FileKey: %v, Validate: %v", err, c.Validate())
			}
			if err == nil {
				fk.PutIV(make([]byte, mode.IVSize()), 1<<40)
			}
		}
	})
}
