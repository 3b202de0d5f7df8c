// Package npy reads and writes NumPy's arrays (.npy), and the sparse arrays of SciPy and
// pydata/sparse (.npz).
//
// An .npy file is a header, which is a Python dictionary of type, order and shape, and the
// elements. The package reads versions 1 to 3, in either byte order, in C or Fortran order.
// Types that tensors do not have are widened: bool, int8, int16, uint8 and uint16 to int32;
// uint32 and uint64 to int64 (a value of 2^63 or more is an error); float16 to float32. Arrays
// of objects, strings, dates and records are errors; the package never unpickles anything.
// Files are written in C order, little-endian, in version 1.
//
// An .npz file is a zip archive of .npy files. Three kinds of archives are read:
//
//   - a CSR, CSC, COO, BSR or DIA matrix from scipy.sparse.save_npz, as a sparse tensor of order 2
//   - a COO array with any number of dimensions, as a sparse tensor of that order: from
//     scipy.sparse.save_npz or from sparse.save_npz of pydata/sparse
//   - a single array, as a dense tensor
//
// BSR and DIA matrices have room for absent entries, so zeros in them are not entries. A matrix
// is written as CSR or CSC, and a tensor of another order as COO, in stored (not compressed)
// members. Both libraries read these files.
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
