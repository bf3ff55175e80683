//go:build race

package decrypt

// raceEnabled says that sync.Pool drops objects at random, so that allocations
// cannot be counted.
const raceEnabled = true
