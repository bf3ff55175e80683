package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
)

// A Change is what became of one series of samples.
type Change struct {
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Old     float64 `json:"old"` // medians
	New     float64 `json:"new"`
	Percent Percent `json:"percent"` // by which New is larger

	OldSpread float64 `json:"old_stddev_percent"` // 0 of a single sample
	NewSpread float64 `json:"new_stddev_percent"`

	// P is the probability of such a difference if nothing has changed. With few samples
	// it cannot become small; Decidable says whether it can be less than Significance.
	P         float64 `json:"p"`
	Decidable bool    `json:"decidable"`

	// Worse is by how many percent New is worse than Old; negative if it is better.
	Worse Percent `json:"worse_percent"`
}

// A Percent is a change in percent. It is infinite if what was 0 no longer is, for
// which JSON has null.
type Percent float64

// MarshalJSON implements [json.Marshaler].
func (p Percent) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(p), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(p))
}

// Significance is the P below which a change is taken for real.
const Significance = 0.05

// Regressed reports whether the change is for the worse by more than threshold percent
// and is not to be taken for noise. Where there are too few samples to tell, the
// change counts as it is.
func (c Change) Regressed(threshold float64) bool {
	return float64(c.Worse) > threshold && (!c.Decidable || c.P < Significance)
}

// Compare returns the changes of all that both have, in the order of old, and the names
// of what only one has.
func Compare(old, new *Measurements) (changes []Change, onlyOld, onlyNew []string) {
	for _, s := range old.order {
		a, b := old.values[s], new.values[s]
		if len(b) == 0 {
			onlyOld = append(onlyOld, s.name)
			continue
		}
		c := Change{
			Name: s.name, Unit: s.unit, Old: median(a), New: median(b),
			OldSpread: spread(a), NewSpread: spread(b),
			P: mannWhitney(a, b), Decidable: leastP(len(a), len(b)) < Significance,
		}
		c.Percent = Percent(100 * (c.New - c.Old) / c.Old)
		if c.New == c.Old {
			c.Percent = 0 // of 0, too
		}
		c.Worse = c.Percent
		if s.moreIsBetter() {
			c.Worse = -c.Percent
		}
		changes = append(changes, c)
	}
	for _, s := range new.order {
		if len(old.values[s]) == 0 {
			onlyNew = append(onlyNew, s.name)
		}
	}
	return changes, onlyOld, onlyNew
}

// WriteChanges writes changes as the kernel's test robot reports them: the old median
// with its spread, the change in percent, the new one, and what was measured. Behind it
// stands how likely such a change is without a cause, where enough samples say so.
func WriteChanges(w io.Writer, changes []Change, oldName, newName string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-16s  %s\n", oldName, newName)
	b.WriteString("----------------  --------------------------\n")
	b.WriteString("         %stddev     %change         %stddev\n")
	b.WriteString("             \\          |                \\\n")
	for _, c := range changes {
		fmt.Fprintf(&b, "%s %s %s  %s %s%s\n", c.value(c.Old, c.OldSpread), c.change(), c.value(c.New, c.NewSpread), c.Name, c.Unit, c.likelihood())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// value returns a median with its spread, in 16 columns.
func (c Change) value(v, spread float64) string {
	digits := 0
	if a := math.Abs(v); a < 100 {
		digits = 2
	}
	text := fmt.Sprintf("%.*f", digits, v)
	if spread == 0 {
		return fmt.Sprintf("%10s      ", text)
	}
	return fmt.Sprintf("%10s ±%3.0f%%", text, spread)
}

// change returns the change in 11 columns.
func (c Change) change() string { return fmt.Sprintf("%+10.1f%%", c.Percent) }

func (c Change) likelihood() string {
	if !c.Decidable {
		return ""
	}
	return fmt.Sprintf(" (p=%.3f)", c.P)
}
