// Package reduce sums partial blocks of a result.
//
// Blocks that have only dense levels all have the same arrays, so their values are added in place
// (AddDense). For sparse blocks, Union first computes the union of the patterns. It takes the
// patterns from the blocks, or from operands that have the same level arrays. Union also returns a
// map for each source, from the source's positions to positions in the union. Values are then added
// at the mapped positions, by Add or by a leaf that was compiled for this
// (codegen.Ask.Accumulate). The map marks the first source of each position, which stores its
// value instead of adding it, so that the sum need not be filled with zeros before. Values are
// added in the order of the sources.
//
// # Files
//
//	add.go      adds the values of blocks
//	pattern.go  the pattern of a sparse block
//	union.go    the union of patterns
//	merge.go    merges the segments of several sources
package reduce
