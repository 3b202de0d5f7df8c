// Package tcsfile reads and writes .tcs files. A file has the arrays of a tensor as they are in
// memory, so Open maps it and returns a tcs.Tensor. docs/tcs.md describes the file format.
//
// The arrays of a compressed file have no memory until Load or LoadLazily. After LoadLazily, the
// chunks of the arrays are decompressed when they are read. A file is not trusted: before the
// arrays are used, Verify must pass, or CheckPart, SumPart and CheckSums of all parts.
//
// # Files
//
//	header.go   the file's header
//	source.go   the file of a tensor; Open
//	openfile.go files that are already open, and streams
//	load.go     compressed files, decompressed completely
//	lazy.go     compressed files, decompressed when they are read
//	zstd.go     compression in chunks
//	sums.go     checksums of the arrays
//	crc.go      combined checksums of parts
//	write.go    writing
//	file.go     files that several processes write
//	guard.go    mapped files that shrink
package tcsfile
