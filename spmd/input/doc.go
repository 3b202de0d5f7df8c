// Package input brings a statement's operands from the inputs that a job names to blocks at the
// ranks that own them. A Statement is parsed and checked first (Given.Parse). A Reader then opens
// the inputs (Open), determines all sizes, types and formats (Infer), and makes blocks (Blocks).
//
//	statement.go  the statement, and the flags that concern its tensors (Given.Parse)
//	input.go      the kinds of inputs of a tensor
//	open.go       what each input says about itself, at rank 0 (Source)
//	memory.go     checks of tensors that the program gives
//	share.go      sources at the other ranks (Reader.Open)
//	sizes.go      all sizes and types (Reader.Infer)
//	formats.go    all formats, and the least memory of an entry
//	full.go       results that have every coordinate
//	dense.go      dense results that would be smaller if sparse
//	estimate.go   the approximate number of entries of an input
//	blocks.go     blocks of an input at their owners (Reader.Blocks), by package load
//	stored.go     blocks of tensors that are cut by their entries
//	scalar.go     numbers as inputs
//	checksum.go   checksums of input files
//	unchanged.go  detection of input files that change while they are read
//	watch.go      detection of input files that change while leaves run
package input
