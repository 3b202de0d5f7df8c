// Package input takes a statement's operands from what a job says of them to blocks at
// the ranks that own them.
//
//	statement.go  the statement, and what flags say of its tensors (Given.Parse)
//	input.go      what a tensor can come from
//	open.go       what each input says of itself, at rank 0 (Source)
//	memory.go     checks of tensors that the program gives
//	share.go      and at the other ranks (Reader.Open)
//	sizes.go      every size and type (Reader.Infer)
//	formats.go    every format, and what they take in memory at least
//	full.go       results that hold every coordinate
//	dense.go      dense results that would be smaller sparse
//	estimate.go   about how many entries an input has
//	blocks.go     blocks of an input at their owners (Reader.Blocks), by package load
//	stored.go     blocks of tensors that are cut by their entries
//	scalar.go     numbers as inputs
//	checksum.go   checksums of input files
//	unchanged.go  files that others write while they are read,
//	watch.go      while leaves run, too
package input
