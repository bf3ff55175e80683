//go:build !race

package ext4

const raceEnabled = false
