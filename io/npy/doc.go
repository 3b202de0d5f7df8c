// Package npy reads and writes NumPy's arrays (.npy) and SciPy's and pydata/sparse's
// sparse ones (.npz).
//
// An .npy file is a header, a Python dictionary of type, order and shape, and
// the elements. Versions 1 to 3 are read, in either byte order, in C or Fortran
// order. Types that tensors lack are widened: bool, int8, int16, uint8 and uint16
// to int32; uint32 and uint64 to int64 (values past 2^63 are refused); float16 to
// float32. Arrays of objects, strings, dates and records are refused; nothing is
// ever unpickled. Files are written in C order, little-endian, version 1.
//
// An .npz file is a zip archive of .npy files. What scipy.sparse.save_npz makes
// of a CSR, CSC, COO, BSR or DIA matrix is read as a sparse tensor of order 2; what it,
// or sparse.save_npz of pydata/sparse, makes of a COO of any number of dimensions as a
// tensor of that order; an archive of one array as that array, dense. Of BSR and DIA,
// which make room for entries that are not there, zeros are no entries. Written, as
// stored members, are CSR and CSC of matrices and COO of other orders, which both
// libraries read.
//
// # Files
//
//	header.go    the header of an array
//	elements.go  an array's elements
//	read.go      an array as a stream
//	npz.go       archives
//	stream.go    sparse arrays as streams
//	sparse.go    the entries of SciPy's matrices
//	points.go    the entries of a COO of any order
//	write.go     writing an array
//	npzwrite.go  writing an archive
package npy
