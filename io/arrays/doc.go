// Package arrays reads tensors that a file stores as arrays: a dense tensor as one array, and a
// sparse one as arrays of positions, coordinates and values, as SciPy does.
//
// The reader of a format implements File, which opens an array by its name. The arrays of a sparse
// tensor have SciPy's names (see Kind), whatever the format calls them. Each stream opens the
// arrays that it needs and reads them side by side, a few thousand elements at a time.
//
// Elements of types that tensors do not have are widened: bool, int8, int16, uint8 and uint16 to
// int32; uint32 and uint64 to int64 (a value of 2^63 or more is an error); float16 to float32.
//
// BSR and DIA matrices have room for absent entries, so zeros in them are not entries.
//
// # Files
//
//	file.go      an array of a file by its name
//	header.go    the type and the shape of an array
//	elements.go  the elements of an array
//	dense.go     a dense array as a stream
//	stream.go    sparse tensors as streams
//	sparse.go    the entries of matrices
//	points.go    the entries of a COO tensor of any order
//	write.go     entries as arrays, for writers
package arrays
