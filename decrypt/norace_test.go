//go:build !race

package decrypt

// raceEnabled: see race_test.go.
const raceEnabled = false
