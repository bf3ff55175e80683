package metadata

import (
	"errors"
	"fmt"

	"encfs/keys"
)

// Unlock opens a policy of the folder with whichever of its protectors the secret
// fits, and returns the master key, which the caller closes, and that protector.
// passphrase says what the secret is: it is then tried on protectors of passphrases,
// otherwise on those of raw keys. Protectors are looked for as by [Dir.Protector].
//
// If none fits, the error is an [ErrWrongSecret], also if the policy has no protector
// of that kind. It is joined with what hindered the use of others, such as a
// [MemoryError] or a [LinkError]; if that is all there is, it stands alone.
func (d *Dir) Unlock(policy *Policy, secret *keys.Secret, passphrase bool, others ...*Dir) (*keys.MasterKey, *Protector, error) {
	var errs []error
	for _, descriptor := range policy.Protectors() {
		p, err := d.Protector(descriptor, others...)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if p.Source().Passphrase() != passphrase {
			continue
		}
		protectorKey, err := p.Unlock(secret)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		master, err := policy.Unlock(descriptor, protectorKey)
		protectorKey.Close()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		return master, p, nil
	}
	if len(errs) == 0 {
		kind := "raw key"
		if passphrase {
			kind = "passphrase"
		}
		errs = append(errs, fmt.Errorf("%w: no protector has a %s", ErrWrongSecret, kind))
	}
	return nil, nil, fmt.Errorf("metadata: policy %s: %w", policy.Name(), errors.Join(errs...))
}
