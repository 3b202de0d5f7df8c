//go:build race

package spmd_test

// detected says that the race detector, which keeps notes of its own for what it has seen, has
// memory beside the program's.
const detected = true
