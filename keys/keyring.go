package keys

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// ErrNoKey means that the master key of a policy is not present. It is the ENOKEY
// of the kernel.
var ErrNoKey = errors.New("master key not present")

// A Keyring holds the master keys of one mount and owns them. The zero Keyring is
// empty and ready for use; it is safe for concurrent use.
type Keyring struct {
	mu           sync.RWMutex
	byIdentifier map[Identifier]*MasterKey
	byDescriptor map[Descriptor]*MasterKey // the same keys
}

// Add adds a master key for policies of both versions; the Keyring closes it in the
// end. If the same key is there already, it stays and k is closed.
func (r *Keyring) Add(k *MasterKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.byIdentifier[k.Identifier()]; old != nil {
		if old != k {
			k.Close()
		}
		return
	}
	if r.byIdentifier == nil {
		r.byIdentifier = make(map[Identifier]*MasterKey)
		r.byDescriptor = make(map[Descriptor]*MasterKey)
	}
	r.byIdentifier[k.Identifier()] = k
	r.byDescriptor[k.Descriptor()] = k
}

// Remove removes the master key with the given identifier, if it is there, and
// closes it. Those who found it before can no longer derive from it.
func (r *Keyring) Remove(id Identifier) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.byIdentifier[id]
	if k == nil {
		return
	}
	delete(r.byIdentifier, id)
	delete(r.byDescriptor, k.Descriptor())
	k.Close()
}

// Find returns the master key that a policy names: by the identifier in version 2,
// by the descriptor in version 1. The error is an [ErrNoKey], or an
// [ErrUnsupportedPolicy] for other versions. The key belongs to the Keyring; the
// caller does not close it.
func (r *Keyring) Find(p Policy) (*MasterKey, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	switch p.Version {
	case 1:
		if k := r.byDescriptor[p.Descriptor]; k != nil {
			return k, nil
		}
		return nil, fmt.Errorf("keys: %w: descriptor %v", ErrNoKey, p.Descriptor)
	case 2:
		if k := r.byIdentifier[p.Identifier]; k != nil {
			return k, nil
		}
		return nil, fmt.Errorf("keys: %w: identifier %v", ErrNoKey, p.Identifier)
	}
	return nil, fmt.Errorf("keys: %w: version %d", ErrUnsupportedPolicy, p.Version)
}

// Names returns the names that policies have for the keys, in order: the
// identifier and the descriptor of each, in hexadecimal.
func (r *Keyring) Names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	names := make([]string, 0, 2*len(r.byIdentifier))
	for id := range r.byIdentifier {
		names = append(names, id.String())
	}
	for d := range r.byDescriptor {
		names = append(names, d.String())
	}
	slices.Sort(names)
	return names
}

// Close closes all keys and leaves the Keyring empty.
func (r *Keyring) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.byIdentifier {
		k.Close()
	}
	clear(r.byIdentifier)
	clear(r.byDescriptor)
}
