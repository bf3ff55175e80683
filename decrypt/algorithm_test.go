package decrypt

import (
	"slices"
	"testing"

	"encfs/keys"
)

func TestAlgorithms(t *testing.T) {
	byName := map[string]Algorithm{}
	for _, a := range Algorithms() {
		if _, ok := byName[a.Name]; ok {
			t.Errorf("%s is there twice", a.Name)
		}
		byName[a.Name] = a
		want, ok := shapes[a.Name]
		if !ok || !slices.Equal(a.KeySizes, want.keySizes) || a.IVSize != want.ivSize || a.Multiple != want.multiple {
			t.Errorf("%s: got %+v, want %+v", a.Name, a, want)
		}
	}
	for _, d := range Drivers() {
		if _, ok := byName[d.Algorithm]; !ok {
			t.Errorf("driver %s is of no algorithm", d.Name)
		}
	}
	for m := range keys.Mode(255) {
		if !m.Known() {
			continue
		}
		a := byName[m.Algorithm()]
		if !slices.Contains(a.KeySizes, m.KeySize()) || a.IVSize != m.IVSize() {
			t.Errorf("%v: key of %d bytes, IV of %d: got %+v", m, m.KeySize(), m.IVSize(), a)
		}
	}
	Algorithms()[0].Name = "changed"
	if Algorithms()[0].Name == "changed" {
		t.Error("Algorithms gives its callers the table itself")
	}
}

// Speck is not for files.
func TestNoModeForSpeck(t *testing.T) {
	for m := range keys.Mode(255) {
		switch m.Algorithm() {
		case "xts(speck128)", "cts(cbc(speck128))":
			t.Errorf("%v is %s", m, m.Algorithm())
		}
	}
}
