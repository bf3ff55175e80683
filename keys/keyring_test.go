package keys

import (
	"slices"
	"testing"
)

func TestKeyring(t *testing.T) {
	var r Keyring
	a, b := newMasterKey(t, pattern(64)), newMasterKey(t, pattern(32))
	v2 := func(k *MasterKey) Policy { return Policy{Version: 2, Identifier: k.Identifier()} }
	v1 := func(k *MasterKey) Policy { return Policy{Version: 1, Descriptor: k.Descriptor()} }
	find := func(p Policy, want *MasterKey) {
		t.Helper()
		got, err := r.Find(p)
		if want == nil {
			wantErr(t, err, ErrNoKey)
		} else if err != nil {
			t.Errorf("Find: %v", err)
		}
		if got != want {
			t.Errorf("Find = %v, want %v", got, want)
		}
	}

	find(v2(a), nil)
	find(v1(a), nil)
	r.Remove(a.Identifier())
	r.Add(a)
	r.Add(b)
	for _, k := range []*MasterKey{a, b} {
		find(v2(k), k)
		find(v1(k), k)
	}
	names := []string{a.Identifier().String(), a.Descriptor().String(), b.Identifier().String(), b.Descriptor().String()}
	slices.Sort(names)
	if got := r.Names(); !slices.Equal(got, names) {
		t.Errorf("Names = %q, want %q", got, names)
	}
	// A policy of one version does not look at the other's name.
	find(Policy{Version: 1, Identifier: a.Identifier()}, nil)
	find(Policy{Version: 2, Descriptor: a.Descriptor()}, nil)
	for _, version := range []uint8{0, 3} {
		_, err := r.Find(Policy{Version: version, Identifier: a.Identifier(), Descriptor: a.Descriptor()})
		wantErr(t, err, ErrUnsupportedPolicy)
	}

	again := newMasterKey(t, pattern(64))
	r.Add(again)
	find(v2(a), a)
	if closed(a) || !closed(again) {
		t.Errorf("same key twice: first closed %v, second %v; want the second", closed(a), closed(again))
	}
	r.Add(a)
	if closed(a) {
		t.Error("adding the same MasterKey twice closes it")
	}

	r.Remove(a.Identifier())
	find(v2(a), nil)
	find(v1(a), nil)
	find(v2(b), b)
	if !closed(a) || closed(b) {
		t.Errorf("after Remove: removed closed %v, other %v", closed(a), closed(b))
	}
	r.Close()
	find(v2(b), nil)
	if !closed(b) {
		t.Error("Close leaves a key open")
	}
	r.Close()
	c := newMasterKey(t, pattern(16))
	r.Add(c)
	find(v1(c), c)
}

func closed(k *MasterKey) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.secret == nil
}
