// Package bench is what encfs bench runs: it measures and compares, and writes its
// results for people, for programs, and as Go's benchmarks do.
//
// No result is judged here except by Compare, which tells a change from noise with
// the Mann-Whitney U test.
package bench
