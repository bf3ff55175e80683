package keys

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
)

// MaxPassphraseSize is the length in bytes of the longest passphrase.
const MaxPassphraseSize = 4096

// maxKeyFileSize is the length in bytes of the longest key file: MaxMasterKeySize in
// hexadecimal, and CR LF.
const maxKeyFileSize = 2*MaxMasterKeySize + 2

// ErrKeyFile means that a key file's contents are neither a raw key nor one in
// hexadecimal.
var ErrKeyFile = errors.New("not a key of 16 to 64 bytes, raw or in hexadecimal")

// ErrPassphrase means that a passphrase is empty or too long.
var ErrPassphrase = errors.New("unusable passphrase")

// ReadKey reads a raw key from r up to its end. There are two forms:
//
//   - hexadecimal: 32 to 128 digits in either case, an even number, then at most
//     one line end, LF or CR LF, and nothing else;
//   - raw: anything else of 16 to 64 bytes, all of which are the key, a line end
//     at its end included.
//
// Contents that fit both, 32 to 64 bytes that happen to be digits, are taken for
// hexadecimal: random bytes practically never look like this, and text does. Where
// a key can be checked, [ReadKeys] gives both readings. Other contents are an
// [ErrKeyFile]. The caller closes the Secret.
func ReadKey(r io.Reader) (*Secret, error) {
	readings, err := ReadKeys(r)
	if err != nil {
		return nil, err
	}
	for _, s := range readings[1:] {
		s.Close()
	}
	return readings[0], nil
}

// ReadKeys is like ReadKey but returns all readings of contents that fit both forms:
// the hexadecimal one, then the raw one. Such a file may have been made for
// another program that takes it as it is. The caller closes the Secrets.
func ReadKeys(r io.Reader) (readings []*Secret, err error) {
	// One byte more, to see that the end comes.
	buf, err := NewSecret(maxKeyFileSize + 1)
	if err != nil {
		return nil, err
	}
	defer buf.Close()
	n, err := io.ReadFull(r, buf.Bytes())
	if err == nil {
		return nil, fmt.Errorf("keys: %w: more than %d bytes", ErrKeyFile, maxKeyFileSize)
	}
	if err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, fmt.Errorf("keys: reading a key: %w", err)
	}
	b := buf.Bytes()[:n]

	defer func() {
		if err != nil {
			for _, s := range readings {
				s.Close()
			}
			readings = nil
		}
	}()
	if digits := trimLineEnd(b); isHexKey(digits) {
		s, err := NewSecret(len(digits) / 2)
		if err != nil {
			return nil, err
		}
		readings = append(readings, s)
		if _, err := hex.Decode(s.Bytes(), digits); err != nil {
			panic("keys: " + err.Error()) // isHexKey has seen the digits
		}
	}
	if len(b) >= MinMasterKeySize && len(b) <= MaxMasterKeySize {
		s, err := CopySecret(b)
		if err != nil {
			return readings, err
		}
		readings = append(readings, s)
	}
	if len(readings) == 0 {
		return nil, fmt.Errorf("keys: %w: %d bytes", ErrKeyFile, n)
	}
	return readings, nil
}

// trimLineEnd returns b without one LF or CR LF at its end.
func trimLineEnd(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\n' {
		b = b[:n-1]
		if n := len(b); n > 0 && b[n-1] == '\r' {
			b = b[:n-1]
		}
	}
	return b
}

func isHexKey(b []byte) bool {
	if len(b)%2 != 0 || len(b) < 2*MinMasterKeySize || len(b) > 2*MaxMasterKeySize {
		return false
	}
	for _, c := range b {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return true
}

// ReadPassphrase reads one line from r and returns it without its line end. As in the
// fscrypt tool a passphrase is the bytes up to the first LF or CR, or up to the end
// of r; any other byte may be in it, NUL and those that are no UTF-8 too. An empty
// one and one of more than [MaxPassphraseSize] bytes is an [ErrPassphrase].
//
// Bytes are read one by one and none after the line end, so that a second call reads
// the second line. CR LF counts as one line end; for that, one byte is read after
// CR, and lost if it is not LF. The caller closes the Secret.
func ReadPassphrase(r io.Reader) (*Secret, error) {
	buf, err := NewSecret(MaxPassphraseSize + 1)
	if err != nil {
		return nil, err
	}
	defer buf.Close()
	b := buf.Bytes()
	n := 0
	for {
		if n == len(b) {
			return nil, fmt.Errorf("keys: %w: more than %d bytes", ErrPassphrase, MaxPassphraseSize)
		}
		if _, err := io.ReadFull(r, b[n:n+1]); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("keys: reading a passphrase: %w", err)
		}
		if b[n] == '\n' {
			break
		}
		if b[n] == '\r' {
			// What comes after a line that is complete is the next reader's concern,
			// errors too.
			io.ReadFull(r, b[n:n+1])
			break
		}
		n++
	}
	if n == 0 {
		return nil, fmt.Errorf("keys: %w: empty", ErrPassphrase)
	}
	return CopySecret(b[:n])
}

// ReadKeyFile is [ReadKeys] for the contents of a file, which may be a pipe.
func ReadKeyFile(name string) ([]*Secret, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	defer f.Close()
	readings, err := ReadKeys(f)
	if err != nil {
		return nil, fmt.Errorf("%w in %s", err, name)
	}
	return readings, nil
}

// ReadPassphraseFile is [ReadPassphrase] for the first line of a file, which may be
// a pipe.
func ReadPassphraseFile(name string) (*Secret, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	defer f.Close()
	s, err := ReadPassphrase(f)
	if err != nil {
		return nil, fmt.Errorf("%w in %s", err, name)
	}
	return s, nil
}
