//go:build noselftest

package decrypt

import "fmt"

const haveSelfTests = false

func selfTest(d Driver, _ bool) error {
	return fmt.Errorf("decrypt: %s: %w", d.Name, ErrNoSelfTests)
}
