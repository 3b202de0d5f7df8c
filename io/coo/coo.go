// Package coo is streams of (coordinates, value), their external sort, and the
// two-pass assembly of a sorted stream into a tcs.Tensor.
package coo

import "distaff/io/tcs"

// Batch is a run of entries: Coords[m][k] is entry k's coordinate in mode m
// (0-based), Vals the values as bytes of the stream's type. The consumer may
// keep nothing of it past the next call.
type Batch struct {
	N      int
	Coords [][]int64
	Vals   []byte
}

// Stream yields entries. Next fills b and returns io.EOF after the last.
type Stream interface {
	// Dims are the sizes of the modes, known before the first Next where
	// Exact, else lower bounds that are final after io.EOF.
	Dims() (dims []int64, exact bool)
	Type() tcs.Type
	Next(b *Batch) error
	Rewind() error
	Close() error
}
