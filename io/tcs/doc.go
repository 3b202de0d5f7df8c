// Package tcs is the tensor: a header and level arrays, in memory as in the
// .tcs file, so that a file is mapped, not read. docs/tcs.md has the format.
//
// # Model
//
// A tensor of R modes is stored as a coordinate tree of R levels, outermost
// first. Level l stores one mode; a node of the tree at level l is a position,
// an integer from 0. The root is one position above level 0, and the values
// are an array over the positions of the last level. A level's kind says how
// the children of a parent position p are found:
//
//	d  dense: children p*Size+k for k in [0, Size), coordinate Offset+k; no arrays
//	s  compressed: children [Pos[p], Pos[p+1]), coordinates Crd[q], strictly increasing
//	u  compressed with repeats: as s, coordinates may repeat
//	q  singleton: the one child p, coordinate Crd[p]
//	c  singleton with repeats: as q
//	p  padded singleton: as q; Crd[p] = -1 marks that p has no child
//
// A u or c level repeats its coordinate once for each entry of the singletons
// that follow it; followed by a level of another kind its coordinates do not
// repeat. Where it is the last level of such a chain of repeats, equal
// coordinates are kept as entries of their own (see Shape.KeepsRepeats).
// Below a padded position, singletons hold -1, compressed levels are empty and
// values are zero.
//
// # Blocks
//
// A block is a tensor whose Box is smaller than its Dims. Coordinates are
// always those of the whole tensor. Box and dense Offset and Size may differ:
// a View keeps the whole tensor's level sizes and positions, and its arrays are
// slices that know the position of their first element (Array.First); a block
// that was assembled on its own has Offset and Size cut to its Box, and First 0.
//
// # Memory
//
// Arrays lie outside the Go heap: in mapped files or in memory from Alloc,
// counted by a Limit. Memory is reference counted; a tensor releases what it
// holds in Close, and views hold what they show.
//
// # Files
//
//	tensor.go     Tensor and Array
//	shape.go      what a tensor's arrays are, and their layout in a file
//	levelkind.go  what each kind of level is
//	levelparts.go how positions of each are cut
//	value.go      value types
//	sizes.go      sizes of modes
//	header.go     the file's header
//	source.go     the file behind a tensor; Open
//	openfile.go   files that are open already, and streams
//	lazy.go       compressed files, decompressed as they are read
//	zstd.go       compression in chunks
//	write.go      writing
//	array.go      elements of an array
//	cursor.go     entries in storage order
//	view.go       blocks that share memory
//	keys.go       tuples of coordinates, and the positions between two
//	nothing.go    a tensor without entries or memory
//	validate.go   checks of the arrays,
//	checkpart.go  by several readers
//	pads.go       padded levels
//	crc.go        checksums of parts, joined
//	stats.go      statistics
//	narrow.go     arrays in 32 bits
//	widen.go      arrays in 64 bits
//	memory.go     memory, and the limit that counts it
//	counters.go   the limit for allocators outside Go
//	guard.go      mapped files that shrink
//	errors.go     errors and exit codes
//	print.go      values as text
package tcs
