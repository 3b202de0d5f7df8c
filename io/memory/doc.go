// Package memory makes tensors over slices of a Go program, without copying them, and gives a
// tensor's arrays as slices.
//
// The memory stays the caller's. A tensor shows it until Close, which frees nothing of it.
// Meanwhile the values may be changed between runs, but not during one; the integers may not
// be changed once they were checked. Jobs only read it, but for the values of a
// tensor that a job computes into.
//
// What a compiled function relies on is checked when a tensor is made: sizes and lengths at
// once, positions and coordinates in one pass, which Trusted leaves out. An error is a *tcs.Error
// with exit code 3 that names the argument.
package memory
