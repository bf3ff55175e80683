package metadata

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"encfs/keys"
	"encfs/keys/metadata/internal/pb"
)

// Options are what a policy's file says about the policy that is set on a
// directory. Flags other than the padding and the data unit size are not among
// them: what counts is in the contexts of the directory.
type Options struct {
	Padding   int // of file names: 4, 8, 16 or 32 bytes
	Contents  keys.Mode
	Filenames keys.Mode
	Version   int // 1 or 2
}

// policy returns the keys.Policy with these options and no name of a key. The error
// is a keys.ErrUnsupportedPolicy.
func (o Options) policy() (keys.Policy, error) {
	p := keys.Policy{Contents: o.Contents, Filenames: o.Filenames}
	if o.Version == 1 || o.Version == 2 {
		p.Version = uint8(o.Version)
	}
	padding := slices.Index([]int{4, 8, 16, 32}, o.Padding)
	if padding < 0 {
		return keys.Policy{}, fmt.Errorf("metadata: %w: padding %d", keys.ErrUnsupportedPolicy, o.Padding)
	}
	p.Flags = keys.Flags(padding)
	return p, p.Validate()
}

// A Policy is a master key wrapped with protector keys, as a file of
// .fscrypt/policies has it. It holds nothing secret. It is safe for concurrent use
// but for AddProtector and RemoveProtector.
type Policy struct {
	data *pb.PolicyData // as read, with fields that we do not know
}

// ErrLastProtector means that a policy would be left without a protector, and its
// files without a key.
var ErrLastProtector = errors.New("the last protector of a policy")

// NewPolicy wraps a master key, which must have 64 bytes, with each of the protector
// keys, at least one. Another length is a [keys.ErrKeySize], and options that no
// kernel takes are a [keys.ErrUnsupportedPolicy].
func NewPolicy(masterKey *keys.MasterKey, o Options, protectorKeys ...*keys.Secret) (*Policy, error) {
	if len(protectorKeys) == 0 {
		panic("metadata: policy without a protector")
	}
	if _, err := o.policy(); err != nil {
		return nil, err
	}
	p := &Policy{&pb.PolicyData{
		KeyDescriptor: keyName(masterKey, o.Version),
		Options: &pb.EncryptionOptions{
			Padding:       int64(o.Padding),
			Contents:      pb.EncryptionMode(o.Contents),
			Filenames:     pb.EncryptionMode(o.Filenames),
			PolicyVersion: int64(o.Version),
		},
	}}
	for _, k := range protectorKeys {
		if err := p.AddProtector(masterKey, k); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// keyName returns how a policy of the given version names the key.
func keyName(k *keys.MasterKey, version int) string {
	if version == 1 {
		return k.Descriptor().String()
	}
	return k.Identifier().String()
}

// parsePolicy reads the contents of a policy's file. The error is an ErrDamaged.
// Modes that we do not know are no damage.
func parsePolicy(name string, b []byte) (*Policy, error) {
	data := new(pb.PolicyData)
	if err := proto.Unmarshal(b, data); err != nil {
		return nil, damaged("%v", err)
	}
	if data.KeyDescriptor != name {
		return nil, damaged("it is policy %q", data.KeyDescriptor)
	}
	o := data.Options
	if o == nil {
		return nil, damaged("no options")
	}
	digits := 0
	switch o.PolicyVersion {
	case 0, 1:
		digits = descriptorDigits
	case 2:
		digits = identifierDigits
	default:
		return nil, damaged("policy version %d", o.PolicyVersion)
	}
	if !isHex(name, digits) {
		return nil, damaged("key %q in policy version %d", name, o.PolicyVersion)
	}
	if !slices.Contains([]int64{4, 8, 16, 32}, o.Padding) {
		return nil, damaged("padding %d", o.Padding)
	}
	for _, m := range []pb.EncryptionMode{o.Contents, o.Filenames} {
		if m < 0 || m > 255 {
			return nil, damaged("mode %d", m)
		}
	}
	seen := make(map[string]bool)
	for _, w := range data.WrappedPolicyKeys {
		d := w.GetProtectorDescriptor()
		if !isHex(d, descriptorDigits) {
			return nil, damaged("protector %q", d)
		}
		if seen[d] {
			return nil, damaged("protector %s twice", d)
		}
		seen[d] = true
		if err := checkWrapped(w.WrappedKey, policyKeySize); err != nil {
			return nil, fmt.Errorf("%w for protector %s", err, d)
		}
	}
	return &Policy{data}, nil
}

// ParsePolicy reads what the file with the given name has, which names the policy's master
// key. The error is an [ErrDamaged].
func ParsePolicy(name string, b []byte) (*Policy, error) {
	p, err := parsePolicy(name, b)
	if err != nil {
		return nil, fmt.Errorf("metadata: policy %s: %w", name, err)
	}
	return p, nil
}

// Marshal returns what the policy's file has.
func (p *Policy) Marshal() ([]byte, error) { return marshal(p.data) }

// Name returns the name of the master key, which is the file's: 16 hexadecimal
// digits in version 1, 32 in version 2.
func (p *Policy) Name() string { return p.data.KeyDescriptor }

// Options returns what the file says about the policy. The modes may be unknown.
func (p *Policy) Options() Options {
	o := p.data.Options
	return Options{
		Padding:   int(o.Padding),
		Contents:  keys.Mode(o.Contents),
		Filenames: keys.Mode(o.Filenames),
		Version:   int(max(o.PolicyVersion, 1)),
	}
}

// Protectors returns the descriptors of the protectors that open the policy.
func (p *Policy) Protectors() []string {
	var list []string
	for _, w := range p.data.WrappedPolicyKeys {
		list = append(list, w.ProtectorDescriptor)
	}
	return list
}

// wrapped returns the key as it is wrapped for a protector, or nil.
func (p *Policy) wrapped(descriptor string) *pb.WrappedKeyData {
	for _, w := range p.data.WrappedPolicyKeys {
		if w.ProtectorDescriptor == descriptor {
			return w.WrappedKey
		}
	}
	return nil
}

// Unlock returns the master key, which the caller closes. descriptor names one of the
// policy's protectors and protectorKey is its key. The errors are [ErrMissing] if
// it is no protector of this policy, [ErrWrongSecret] if it has another key, and
// [ErrDamaged] if what is wrapped with it is not the master key of this policy.
func (p *Policy) Unlock(descriptor string, protectorKey *keys.Secret) (*keys.MasterKey, error) {
	k, err := p.unlock(descriptor, protectorKey)
	if err != nil {
		return nil, fmt.Errorf("policy %s: %w", p.Name(), err)
	}
	return k, nil
}

func (p *Policy) unlock(descriptor string, protectorKey *keys.Secret) (*keys.MasterKey, error) {
	w := p.wrapped(descriptor)
	if w == nil {
		return nil, fmt.Errorf("%w: not protected by %s", ErrMissing, descriptor)
	}
	if descriptorOf(protectorKey.Bytes()) != descriptor {
		return nil, fmt.Errorf("%w: not the key of protector %s", ErrWrongSecret, descriptor)
	}
	raw, err := unwrap(protectorKey.Bytes(), w)
	if errors.Is(err, ErrWrongSecret) {
		return nil, damaged("the key wrapped for protector %s", descriptor) // the secret was right
	}
	if err != nil {
		return nil, err
	}
	defer raw.Close()
	k, err := keys.NewMasterKey(raw.Bytes())
	if err != nil {
		return nil, err
	}
	if name := keyName(k, p.Options().Version); name != p.Name() {
		k.Close()
		return nil, damaged("it has the master key %s", name)
	}
	return k, nil
}

// AddProtector wraps the master key with one more protector key. masterKey is the
// policy's own; another one panics. A protector that the policy has already is
// wrapped anew. The change is in memory until [Dir.WritePolicy].
func (p *Policy) AddProtector(masterKey *keys.MasterKey, protectorKey *keys.Secret) error {
	if keyName(masterKey, p.Options().Version) != p.Name() {
		panic("metadata: master key of another policy")
	}
	if n := masterKey.Size(); n != policyKeySize {
		return fmt.Errorf("metadata: %w: %d bytes, a policy has %d", keys.ErrKeySize, n, policyKeySize)
	}
	if n := protectorKey.Len(); n != protectorKeySize {
		panic(fmt.Sprintf("metadata: protector key of %d bytes", n))
	}
	raw, err := masterKey.Raw()
	if err != nil {
		return err
	}
	defer raw.Close()
	wrapped, err := wrap(protectorKey.Bytes(), raw.Bytes())
	if err != nil {
		return err
	}
	descriptor := descriptorOf(protectorKey.Bytes())
	for _, w := range p.data.WrappedPolicyKeys {
		if w.ProtectorDescriptor == descriptor {
			w.WrappedKey = wrapped
			return nil
		}
	}
	p.data.WrappedPolicyKeys = append(p.data.WrappedPolicyKeys,
		&pb.WrappedPolicyKey{ProtectorDescriptor: descriptor, WrappedKey: wrapped})
	return nil
}

// RemoveProtector makes a protector no longer open the policy. Whoever has a copy of
// the file still can. The errors are [ErrMissing] if it is none of the policy's and
// [ErrLastProtector]. The change is in memory until [Dir.WritePolicy].
func (p *Policy) RemoveProtector(descriptor string) error {
	list := p.data.WrappedPolicyKeys
	i := slices.IndexFunc(list, func(w *pb.WrappedPolicyKey) bool { return w.ProtectorDescriptor == descriptor })
	if i < 0 {
		return fmt.Errorf("policy %s: %w: not protected by %s", p.Name(), ErrMissing, descriptor)
	}
	if len(list) == 1 {
		return fmt.Errorf("policy %s: %s is %w", p.Name(), descriptor, ErrLastProtector)
	}
	p.data.WrappedPolicyKeys = slices.Delete(list, i, i+1)
	return nil
}
