//go:build !race

package test

// raceDetector says that the tests, and so the program under test, are built
// with the race detector.
const raceDetector = false
