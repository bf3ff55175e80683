package disk

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	seekable "github.com/SaveTheRbtz/zstd-seekable-format-go/pkg"
	"github.com/klauspost/compress/zstd"
)

func open(b []byte) (*Image, error) { return Open(bytes.NewReader(b), int64(len(b))) }

// packSeekable packs b in frames of some bytes.
func packSeekable(tb testing.TB, b []byte, frame int) []byte {
	tb.Helper()
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer encoder.Close()
	var packed bytes.Buffer
	w, err := seekable.NewWriter(&packed, encoder)
	if err != nil {
		tb.Fatal(err)
	}
	for len(b) > 0 {
		n := min(frame, len(b))
		if _, err := w.Write(b[:n]); err != nil {
			tb.Fatal(err)
		}
		b = b[n:]
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return packed.Bytes()
}

func TestOpen(t *testing.T) {
	plain := testDisk(t, "mbr")
	qcow2, err := os.ReadFile(filepath.Join("qcow2", "testdata", "v3.qcow2.zst"))
	if err != nil {
		t.Fatal(err)
	}
	unpacked := func(b []byte) []byte {
		d, err := zstd.NewReader(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if b, err = d.DecodeAll(b, nil); err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, tt := range []struct {
		name   string
		b      []byte
		format string
		size   int
	}{
		{"plain", plain, "raw", len(plain)},
		{"empty", nil, "raw", 0},
		{"short", []byte("x"), "raw", 1},
		{"seekable zstd", packSeekable(t, plain, 1<<20), "seekable zstd", len(plain)},
		{"qcow2", unpacked(qcow2), "qcow2", 3<<20 + 512},
	} {
		t.Run(tt.name, func(t *testing.T) {
			img, err := open(tt.b)
			if err != nil {
				t.Fatal(err)
			}
			defer img.Close()
			if img.Format != tt.format || img.Size != int64(tt.size) {
				t.Errorf("%s of %d bytes, want %s of %d", img.Format, img.Size, tt.format, tt.size)
			}
			if n, err := io.Copy(io.Discard, io.NewSectionReader(img, 0, img.Size)); n != img.Size || err != nil {
				t.Errorf("%d bytes, error %v", n, err)
			}
		})
	}
}

// TestZstd reads at random.
func TestZstd(t *testing.T) {
	plain := make([]byte, 1<<20)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range plain {
		plain[i] = byte(rng.IntN(7))
	}
	img, err := open(packSeekable(t, plain, 10000))
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	for range 200 {
		off := rng.IntN(len(plain))
		b := make([]byte, rng.IntN(50000))
		n, err := img.ReadAt(b, int64(off))
		if n != min(len(b), len(plain)-off) || err != nil && (err != io.EOF || n == len(b)) || !bytes.Equal(b[:n], plain[off:][:n]) {
			t.Fatalf("ReadAt of %d bytes at %d: %d, %v", len(b), off, n, err)
		}
	}
}

// TestRefusals names what is not read.
func TestRefusals(t *testing.T) {
	for _, r := range refusals {
		b := append(append(make([]byte, r.offset), r.bytes...), make([]byte, 1000)...)
		_, err := open(b)
		if e, ok := errors.AsType[*UnsupportedError](err); !ok || e.Format != r.name || e.Remedy == "" {
			t.Errorf("%s: %v", r.name, err)
		}
	}
	_, err := open([]byte(zstdMagic + "and nothing at the end"))
	if e, ok := errors.AsType[*UnsupportedError](err); !ok || !strings.Contains(e.Error(), "zstd data: without a seek table") {
		t.Errorf("zstd: %v", err)
	}
}

func TestDamagedZstd(t *testing.T) {
	packed := packSeekable(t, bytes.Repeat([]byte("some text "), 10000), 30000)
	const footer, entry = 9, 12
	entries := len(packed) - footer - 4*entry
	for _, tt := range []struct {
		name   string
		change func(b []byte) []byte
		want   string // in the error of opening, "" for one of reading
	}{
		{"billions of frames", func(b []byte) []byte { le.PutUint32(b[len(b)-footer:], 1<<32-1); return b }, "zstd"},
		{"more frames than fit", func(b []byte) []byte { le.PutUint32(b[len(b)-footer:], 4000); return b }, "zstd"},
		{"fewer frames", func(b []byte) []byte { le.PutUint32(b[len(b)-footer:], 3); return b }, "zstd"},
		{"large frame", func(b []byte) []byte { le.PutUint32(b[entries+4:], 1<<31); return b }, "frame 0 has 2147483648 bytes"},
		{"large packed frame", func(b []byte) []byte { le.PutUint32(b[entries:], 1<<25); return b }, "frame 0 is behind the end of the file"},
		{"longer frame", func(b []byte) []byte { le.PutUint32(b[entries+4:], 30001); return b }, ""},
		{"damaged frame", func(b []byte) []byte { clear(b[20:40]); return b }, ""},
		{"nothing but the end", func(b []byte) []byte { return append([]byte(zstdMagic), b[len(b)-footer:]...) }, "zstd"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := tt.change(bytes.Clone(packed))
			img, err := open(b)
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				defer img.Close()
				if _, err := img.ReadAt(make([]byte, 10), 0); err == nil {
					t.Error("it is read without an error")
				}
				return
			}
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(packSeekable(f, bytes.Repeat([]byte("some text "), 10000), 30000), uint32(70000))
	for _, r := range refusals {
		f.Add([]byte(r.bytes), uint32(0))
	}
	f.Fuzz(func(t *testing.T, b []byte, at uint32) {
		img, err := open(b)
		if err != nil {
			return
		}
		defer img.Close()
		img.ReadAt(make([]byte, 8192), int64(at))
		img.ReadAt(make([]byte, 8192), 0)
	})
}
