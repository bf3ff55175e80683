package metadata

import (
	"crypto/rand"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"encfs/keys"
	"encfs/keys/metadata/internal/pb"
)

// A Source is the kind of secret that opens a protector.
type Source uint8

// The sources, with the numbers of the fscrypt tool.
const (
	LoginPassphrase  Source = 1 // of a user of the system
	CustomPassphrase Source = 2
	RawKey           Source = 3 // 32 bytes
)

// String returns the fscrypt tool's name for the source, such as
// "custom_passphrase".
func (s Source) String() string {
	switch s {
	case LoginPassphrase:
		return "pam_passphrase"
	case CustomPassphrase:
		return "custom_passphrase"
	case RawKey:
		return "raw_key"
	}
	return fmt.Sprintf("source %d", uint8(s))
}

// Passphrase reports whether the secret is a passphrase.
func (s Source) Passphrase() bool { return s == LoginPassphrase || s == CustomPassphrase }

// A Protector is a protector key wrapped with a secret, as a file of
// .fscrypt/protectors has it. It holds nothing secret. It is safe for concurrent
// use but for Rewrap.
type Protector struct {
	data *pb.ProtectorData // as read, with fields that we do not know
}

// errName means a protector without a name.
var errName = errors.New("metadata: a protector needs a name")

// NewPassphraseProtector makes a protector with a new random key, which is opened by a
// passphrase, and returns the key too; the caller closes it. name is for people
// and not empty; the fscrypt tool wants it to be unique in its folder. The errors
// are those of [Costs.Check] and a [MemoryError].
func NewPassphraseProtector(name string, passphrase *keys.Secret, costs Costs) (*Protector, *keys.Secret, error) {
	return newProtector(&pb.ProtectorData{Source: pb.SourceType_custom_passphrase, Name: name}, passphrase, costs)
}

// NewRawKeyProtector is like NewPassphraseProtector for a raw key of 32 bytes; another
// length is a [keys.ErrKeySize].
func NewRawKeyProtector(name string, key *keys.Secret) (*Protector, *keys.Secret, error) {
	return newProtector(&pb.ProtectorData{Source: pb.SourceType_raw_key, Name: name}, key, Costs{})
}

func newProtector(data *pb.ProtectorData, secret *keys.Secret, costs Costs) (*Protector, *keys.Secret, error) {
	if data.Name == "" {
		return nil, nil, errName
	}
	protectorKey, err := keys.NewSecret(protectorKeySize)
	if err != nil {
		return nil, nil, err
	}
	rand.Read(protectorKey.Bytes())
	data.ProtectorDescriptor = descriptorOf(protectorKey.Bytes())
	p := &Protector{data}
	if err := p.Rewrap(protectorKey, secret, costs); err != nil {
		protectorKey.Close()
		return nil, nil, err
	}
	return p, protectorKey, nil
}

// parseProtector reads the contents of a protector's file. The error is an
// ErrDamaged. Costs are judged when they are used, so that a protector with strange
// ones is shown.
func parseProtector(descriptor string, b []byte) (*Protector, error) {
	data := new(pb.ProtectorData)
	if err := proto.Unmarshal(b, data); err != nil {
		return nil, damaged("%v", err)
	}
	if data.ProtectorDescriptor != descriptor {
		return nil, damaged("it is protector %q", data.ProtectorDescriptor)
	}
	switch data.Source {
	case pb.SourceType_pam_passphrase, pb.SourceType_custom_passphrase:
		if data.Costs == nil {
			return nil, damaged("no hashing costs")
		}
		if n := len(data.Salt); n != saltSize {
			return nil, damaged("salt of %d bytes", n)
		}
	case pb.SourceType_raw_key:
	default:
		return nil, damaged("source %d", data.Source)
	}
	if err := checkWrapped(data.WrappedKey, protectorKeySize); err != nil {
		return nil, err
	}
	return &Protector{data}, nil
}

// ParseProtector reads what the file of the protector with the given descriptor has. The
// error is an [ErrDamaged].
func ParseProtector(descriptor string, b []byte) (*Protector, error) {
	if !isDescriptor(descriptor) {
		return nil, fmt.Errorf("metadata: protector %q: %w", descriptor, damaged("no descriptor"))
	}
	p, err := parseProtector(descriptor, b)
	if err != nil {
		return nil, fmt.Errorf("metadata: protector %s: %w", descriptor, err)
	}
	return p, nil
}

// Marshal returns what the protector's file has.
func (p *Protector) Marshal() ([]byte, error) { return marshal(p.data) }

// Descriptor returns the 16 hexadecimal digits that name the protector.
func (p *Protector) Descriptor() string { return p.data.ProtectorDescriptor }

// Source returns the kind of secret that opens the protector.
func (p *Protector) Source() Source { return Source(p.data.Source) }

// Name returns the name that people know the protector by. Those of login
// passphrases have none. It may have any characters.
func (p *Protector) Name() string { return p.data.Name }

// UID returns the user whose login passphrase it is.
func (p *Protector) UID() int64 { return p.data.Uid }

// Costs returns the costs of hashing the passphrase, as they apply: see
// truncation_fixed in metadata.proto. They may be out of range.
func (p *Protector) Costs() Costs { return costsOf(p.data.Costs) }

// Unlock returns the protector key, 32 bytes; the caller closes it. secret is the
// passphrase without a line end, or the raw key. The errors are [ErrWrongSecret],
// [ErrDamaged] if the secret is right but the key is not that of the descriptor,
// [ErrCosts] and a [MemoryError].
func (p *Protector) Unlock(secret *keys.Secret) (*keys.Secret, error) {
	protectorKey, err := p.unlock(secret)
	if err != nil {
		return nil, fmt.Errorf("protector %s: %w", p.Descriptor(), err)
	}
	return protectorKey, nil
}

func (p *Protector) unlock(secret *keys.Secret) (*keys.Secret, error) {
	wrapping := secret
	if p.Source().Passphrase() {
		var err error
		if wrapping, err = p.Costs().hash(secret.Bytes(), p.data.Salt); err != nil {
			return nil, err
		}
		defer wrapping.Close()
	} else if n := secret.Len(); n != wrappingKeySize {
		return nil, fmt.Errorf("%w: raw key of %d bytes, want %d", ErrWrongSecret, n, wrappingKeySize)
	}
	protectorKey, err := unwrap(wrapping.Bytes(), p.data.WrappedKey)
	if err != nil {
		return nil, err
	}
	if d := descriptorOf(protectorKey.Bytes()); d != p.Descriptor() {
		protectorKey.Close()
		return nil, damaged("it has the key of %s", d)
	}
	return protectorKey, nil
}

// Rewrap makes the protector be opened by a new secret in place of the old one: a
// passphrase, hashed with a new salt and the given costs, or a raw key of 32 bytes,
// for which costs have no meaning. Source, name and descriptor stay, and so do the
// policies. protectorKey is what Unlock returned; the key of another protector
// panics. The change is in memory until [Dir.WriteProtector]. The errors are
// [ErrCosts], a [MemoryError] and, for a raw key, [keys.ErrKeySize]; the protector
// is then as before.
func (p *Protector) Rewrap(protectorKey, secret *keys.Secret, costs Costs) error {
	if descriptorOf(protectorKey.Bytes()) != p.Descriptor() {
		panic("metadata: key of another protector")
	}
	wrapping := secret
	var salt []byte
	if p.Source().Passphrase() {
		salt = make([]byte, saltSize)
		rand.Read(salt)
		var err error
		if wrapping, err = costs.hash(secret.Bytes(), salt); err != nil {
			return err
		}
		defer wrapping.Close()
	} else if n := secret.Len(); n != wrappingKeySize {
		return fmt.Errorf("metadata: %w: raw key of %d bytes, want %d", keys.ErrKeySize, n, wrappingKeySize)
	}
	wrapped, err := wrap(wrapping.Bytes(), protectorKey.Bytes())
	if err != nil {
		return err
	}
	p.data.WrappedKey = wrapped
	if p.Source().Passphrase() {
		p.data.Salt, p.data.Costs = salt, costs.message()
	}
	return nil
}
