// Package reduce sums partial blocks of a result.
//
// Blocks of dense levels alone have one shape: their values are added in place
// (AddDense). Of sparse blocks the union of the patterns is built once (Union), from
// the blocks themselves or from operands whose level arrays theirs would be, with a
// map for each: where its positions are in the union. Values then are added at mapped
// positions, by Add or by a leaf that was compiled to do so (codegen.Request.Accumulate).
// The first source of a position finds no values there: its map says so, and nothing
// is ever filled with zeros. A value's sum is in the order of the sources.
//
// # Files
//
//	add.go      dense blocks
//	pattern.go  sparse blocks: their common shape
//	union.go    the union of patterns
//	merge.go    of segments of one coordinate
package reduce
