// Package memory makes tensors over slices of a Go program without copying them, and returns a
// tensor's arrays as slices.
//
// The caller owns the memory. A tensor refers to this memory until Close, which does not free it.
// Until then, the values may be changed between runs, but not during a run. The integers must not
// be changed once they were checked. Jobs only read the memory, except for the values of a tensor
// that a job computes.
//
// When a tensor is made, everything that a compiled function relies on is checked: sizes and
// lengths at once, and positions and coordinates in one pass, which the option Trusted leaves
// out. An error is a *tcs.Error with exit code 3 that names the argument.
package memory
