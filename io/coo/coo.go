// Package coo is streams of (coordinates, value), their external sort, and the
// two-pass assembly of a sorted stream into a tcs.Tensor.
//
// # Model
//
// An entry is a coordinate a mode and a value. A Stream yields entries in
// batches, in any order, and again after it is rewound. To become a tensor they
// are brought into storage order (by the coordinate of the outermost level,
// then the next, and so on), repeated coordinates are summed, and two passes
// follow (SuperTaco section 4.3): the first compares each entry with the one
// before and counts, for each level, how many entries first differ there; from
// those counts follow the sizes of all arrays. The second appends to each array
// what an entry adds: nothing to levels above the first difference, a
// coordinate below, and to pos the ends of all segments that were passed. (The
// thesis's text has the counters of the levels above the difference grow; the
// counters at and below it do.)
//
// Entries are packed for sorting: the coordinates of a tensor's levels side by
// side in the fewest words that their sizes allow, so that most sorts are radix sorts
// of 16-byte records. What passes the memory budget is sorted in runs on disk
// and merged. Sums of repeated coordinates are made in the order of input,
// whatever the path.
//
// # Who calls whom
//
// Assemble, AssembleFile and Sort read a stream through an Intake and collect its entries
// in a Sorter; entries that are brought from several places come in lanes (Sorter.Add). A
// Sorter keeps them in memory (store) and, if memory has no room, in sorted runs on disk
// (spill). What it returns are entries in storage order, whichever of the two has them; a
// stream that is in order already is counted only, and read again (replay). The first pass
// over them gives a PartCount for each part, and Joined the place of each part in all
// arrays; the second pass fills the parts in side by side (filler), in memory or in a file
// (sink).
//
//	tensor.go     a tensor as a stream; Repack
//	assemble.go   a stream as a tensor, in two passes
//	intake.go     a stream's entries by level, checked
//	collect.go    a stream read once: into a Sorter, or counted to be read again
//	sorter.go     entries from several lanes, sorted in memory and on disk
//	store.go      packed entries in memory, read and counted
//	pack.go       keys and values in words
//	radix.go      the sort in memory
//	inplace.go    the sort of a large store, with little more memory
//	split.go      buckets of about equal size
//	spill.go      sorted runs in a file
//	count.go      the first pass
//	parts.go      the first pass over parts of a tensor, joined
//	partfile.go   both passes over a part, into a file
//	fill.go       the second pass fills the arrays
//	sink.go       an array that is appended to, in memory or in a file
//
// # Other files
//
//	coo.go        streams and batches
//	options.go    what a job says of one input file
//	spec.go       what an assembly is to make
//	ordered.go    Sort
//	presorted.go  streams that are known to be in order
//	spread.go     entries at once into a dense block
//	permute.go    dense tensors in another order of their levels
//	cost.go       what collecting and sorting take, before there are entries
//	survey.go     what a pass over a stream tells
//	distinct.go   how many coordinates differ
//	matrix.go     bandwidth, diagonal and symmetry of a matrix
//	triangles.go  entries of a matrix whose mirror images are stored too
//	diff.go       where two tensors differ
package coo

import "distaff/io/tcs"

// Batch is a run of entries: Coords[m][k] is entry k's coordinate in mode m
// (0-based), Vals the values as bytes of the stream's type. The consumer may
// keep nothing of it past the next call, and does not write to it.
type Batch struct {
	N      int
	Coords [][]int64
	Vals   []byte
}

// Stream yields entries. Next fills b and returns io.EOF after the last.
type Stream interface {
	// Dims are the sizes of the modes, known before the first Next where
	// Exact. If not, they are lower bounds, final after io.EOF.
	Dims() (dims []int64, exact bool)
	Type() tcs.Type
	Next(b *Batch) error
	Rewind() error
	Close() error
}

// BatchSize is the most entries of a batch that this package makes.
const BatchSize = 4096

// Resize makes room in b for n entries of that order and value size.
func (b *Batch) Resize(order, n, valueSize int) {
	if len(b.Coords) != order {
		b.Coords = make([][]int64, order)
	}
	for m := range b.Coords {
		if cap(b.Coords[m]) < n {
			b.Coords[m] = make([]int64, n)
		}
		b.Coords[m] = b.Coords[m][:n]
	}
	if cap(b.Vals) < n*valueSize {
		b.Vals = make([]byte, n*valueSize)
	}
	b.Vals = b.Vals[:n*valueSize]
	b.N = n
}

// firstBatch is the number of entries that a batch has room for at first, if it is extended as it
// fills: many streams have few entries.
const firstBatch = 64

// Extend doubles the number of entries that b has room for, to firstBatch at least and BatchSize at
// most, and keeps the entries that it has.
func (b *Batch) Extend(order, valueSize int) {
	old := *b
	b.Coords, b.Vals = nil, nil
	b.Resize(order, min(max(2*old.N, firstBatch), BatchSize), valueSize)
	for m, c := range old.Coords {
		copy(b.Coords[m], c[:old.N])
	}
	copy(b.Vals, old.Vals[:old.N*valueSize])
}
