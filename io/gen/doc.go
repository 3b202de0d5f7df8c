// Package gen generates tensors: distinct coordinates with a pattern of some kind, and values
// that depend only on a seed, the tensor's name and the coordinates. So the data is the same in
// every format and with any number of parts.
//
// # Model
//
// Parse parses a Kind in the syntax of the -g option. Before anything is generated, a Kind can
// compute how many entries a tensor of given sizes has (Entries). Bind fixes sizes, type and
// seed, and returns a Generator. The Generator returns the entries as a coo.Stream (Stream):
// all entries, or one of several shares that processes generate in parallel (Share). It can
// also store the values of a dense tensor directly (Fill).
//
//	kind.go                  kinds: parsing, printing, counting
//	generator.go             values, Fill
//	stream.go                entries as a stream, shares
//	band.go                  dense and banded patterns: sorted, any range of mode 0 independently
//	uniform.go               splitting of ranges: sorted, any range of mode 0 independently
//	zipf.go, zipfsmall.go    all processes draw all entries, and each keeps its share
//	made.go                  tensors whose values follow from their coordinates
//	random.go, set.go        hashes, random numbers, a set of hashes
package gen

import "fmt"

// Error reports a kind that is not valid, or that the tensor cannot have (exit code 2).
type Error struct{ Msg string }

func (e *Error) Error() string { return e.Msg }

// ExitCode returns 2.
func (e *Error) ExitCode() int { return 2 }

func errorf(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }
