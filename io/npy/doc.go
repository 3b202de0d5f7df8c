// Package npy reads and writes NumPy's arrays (.npy) and SciPy's sparse matrices
// (.npz).
//
// An .npy file is a header, a Python dictionary of type, order and shape, and
// the elements. Versions 1 to 3 are read, in either byte order, in C or Fortran
// order. Types that tensors lack are widened: bool, int8, int16, uint8 and uint16
// to int32; uint32 and uint64 to int64 (values past 2^63 are refused); float16 to
// float32. Arrays of objects, strings, dates and records are refused; nothing is
// ever unpickled. Files are written in C order, little-endian, version 1.
//
// An .npz file is a zip archive of .npy files. What scipy.sparse.save_npz makes
// of a CSR, CSC, COO, BSR or DIA matrix is read as a sparse tensor of order 2; an
// archive of one array as that array, dense. Of BSR and DIA, which make room for
// entries that are not there, zeros are no entries. CSR and CSC are written, as
// stored members.
//
// # Files
//
//	header.go    the header of an array
//	elements.go  an array's elements
//	read.go      an array as a stream
//	npz.go       archives
//	sparse.go    SciPy's sparse matrices as streams
//	write.go     writing
package npy
