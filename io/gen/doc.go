// Package gen generates tensors: distinct coordinates of a kind of pattern, and values
// that depend on nothing but a seed, the tensor's name and the coordinates. So the same
// data comes in every format, and at every number of parts.
//
// # Model
//
// Parse reads a Kind, as -g takes it. A Kind knows how many entries a tensor of given
// sizes has before any is made (Entries). Bind fixes sizes, type and seed, and gives a
// Generator, whose entries come as a coo.Stream: the whole tensor, or one of several
// parts that processes make side by side (Part), or in place of a dense tensor's zeros
// (Fill).
//
//	kind.go                  kinds: parsing, printing, counting
//	generator.go             values, Fill
//	stream.go                entries as a stream, parts
//	band.go                  dense and banded patterns: in order, any range of mode 0 by itself
//	uniform.go               by splitting ranges: in order, any range of mode 0 by itself
//	zipf.go, zipfsmall.go    drawn by all parts together, each keeps its share
//	random.go, set.go        hashes, random numbers, a set of hashes
package gen

import "fmt"

// Error is a kind that is none, or that the tensor cannot have (exit 2).
type Error struct{ Msg string }

func (e *Error) Error() string { return e.Msg }

// ExitCode is 2.
func (e *Error) ExitCode() int { return 2 }

func errorf(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }
