//go:build race

package spmd_test

// detected says that the race detector is on, which uses memory besides the program's.
const detected = true
