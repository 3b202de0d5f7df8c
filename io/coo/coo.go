// Package coo reads streams of entries (coordinates and a value), sorts them, in memory or on disk,
// and assembles them into a tcs.Tensor.
//
// # Model
//
// An entry is one coordinate for each mode, and a value. A Stream yields entries in batches, in any
// order, and yields them again after Rewind. Assembly first brings the entries into storage order:
// they are sorted by the coordinate of the outermost level, then by the next level, and so on.
// Entries with equal coordinates are summed.
//
// Two passes over the sorted entries follow (SuperTaco section 4.3). The first pass compares each
// entry with the one before it and counts, for each level, the entries whose first difference is at
// this level. The sizes of all arrays follow from the counts. The second pass appends to each array
// what an entry adds. Levels above the first difference get nothing. The level of the first
// difference and the levels below it get a coordinate, and their pos arrays get the ends of the
// segments that are complete. (The thesis's text says that the counters of the levels above the
// difference grow. In fact the counters at the difference and below it grow.)
//
// For sorting, the coordinates of an entry are packed into the smallest possible number of 64-bit
// words. Most sorts are therefore radix sorts of 16-byte records. Entries that exceed the memory
// budget are sorted in runs on disk, which are then merged. Values at equal coordinates are added
// in the order of the input, wherever the entries are sorted.
//
// # Who calls whom
//
// Assemble, AssembleFile and Sort read a stream through an Intake and collect its entries in a
// Sorter. Entries that arrive from several places have one lane each (Sorter.Add). A Sorter stores
// entries in memory (store) and, when memory is full, in sorted runs on disk (spill). It returns
// them in storage order from either place. A stream that is already in order is only counted, and
// is read a second time for the second pass (replay). The first pass gives a PartCount for each
// part of the entries. Joined computes from them where each part starts in every array. The second
// pass fills the parts in parallel (filler), in memory or in a file (sink).
//
//	tensor.go     a tensor as a stream; Repack
//	assemble.go   Assemble and AssembleFile
//	intake.go     the entries of a stream by level, checked
//	collect.go    a stream that is read once: into a Sorter, or counted to be read again
//	sorted.go     the sorted entries as a tensor, in two passes
//	sorter.go     entries from several lanes, sorted in memory and on disk
//	store.go      packed entries in memory
//	storeread.go  the entries of a store, counted and read in order
//	slab.go       the memory of a store
//	pack.go       keys and values in words
//	radix.go      the sort in memory
//	inplace.go    the sort of a large store, with little extra memory
//	split.go      buckets of about equal size
//	spill.go      sorted runs in a file
//	count.go      the first pass
//	parts.go      the first pass over the parts of a tensor, joined
//	partfile.go   both passes over a part, into a file
//	fill.go       the second pass
//	sink.go       an array that grows, in memory or in a file
//
// # Other files
//
//	coo.go        streams and batches
//	options.go    options for reading one file
//	spec.go       the tensor that an assembly makes
//	ordered.go    Sort
//	presorted.go  streams that are known to be in order
//	spread.go     entries stored straight into a dense block
//	permute.go    copies of dense tensors with their levels in another order
//	cost.go       the memory of collecting and sorting, estimated before there are entries
//	survey.go     statistics of a stream
//	distinct.go   the number of different coordinates
//	matrix.go     bandwidth, diagonal and symmetry of a matrix
//	triangles.go  entries of a matrix whose mirror images are stored too
//	diff.go       a comparison of two tensors by value
package coo

import (
	"distaff/io/tensor"
)

// Batch is a sequence of N entries. Coords[m][k] is the coordinate of entry k in mode m, counted
// from 0. (In the batches of a reader, Coords has a column for each level.) Vals holds the bytes of
// the values, in the type of the stream. The memory is valid until the next call of Stream.Next.
// Only the stream may write to a batch.
type Batch struct {
	N      int
	Coords [][]int64
	Vals   []byte
}

// Stream yields entries. Next fills b and returns io.EOF after the last entry.
type Stream interface {
	// Dims returns the sizes of the modes. If exact is true, they are final before the first Next.
	// Otherwise they are lower bounds, and final after io.EOF.
	Dims() (dims []int64, exact bool)
	Type() tensor.Type
	Next(b *Batch) error
	Rewind() error
	Close() error
}

// BatchSize is the largest number of entries in a batch that this package makes.
const BatchSize = 4096

// Resize makes room in b for n entries. order is the number of coordinates of an entry, and
// valueSize the size of its value in bytes. It does not keep the old entries if it allocates.
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

// firstBatch is the number of entries that a growing batch has room for at first. It is small
// because many streams have few entries.
const firstBatch = 64

// Extend doubles the number of entries that b has room for, to at least firstBatch and at most
// BatchSize. It keeps the entries that b has.
func (b *Batch) Extend(order, valueSize int) {
	old := *b
	b.Coords, b.Vals = nil, nil
	b.Resize(order, min(max(2*old.N, firstBatch), BatchSize), valueSize)
	for m, c := range old.Coords {
		copy(b.Coords[m], c[:old.N])
	}
	copy(b.Vals, old.Vals[:old.N*valueSize])
}
