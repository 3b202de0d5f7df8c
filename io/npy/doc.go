// Package npy reads and writes NumPy's arrays (.npy), and the sparse arrays of SciPy and
// pydata/sparse (.npz).
//
// An .npy file is a header, which is a Python dictionary of type, order and shape, and the
// elements. The package reads versions 1 to 3, in either byte order, in C or Fortran order.
// Arrays of objects, strings, dates and records are errors; the package never unpickles anything.
// Files are written in C order, little-endian, in version 1.
//
// An .npz file is a zip archive of .npy files. Three kinds of archives are read:
//
//   - a CSR, CSC, COO, BSR or DIA matrix from scipy.sparse.save_npz, as a sparse tensor of order 2
//   - a COO array with any number of dimensions, as a sparse tensor of that order: from
//     scipy.sparse.save_npz or from sparse.save_npz of pydata/sparse
//   - dense arrays, of which one is read as a dense tensor
//
// Package arrays makes the streams. A matrix is written as CSR or CSC, and a tensor of another
// order as COO, in stored (not compressed) members. Both libraries read these files.
//
// # Files
//
//	header.go    the header of an array
//	read.go      an array as a stream
//	npz.go       archives
//	write.go     writing an array
//	npzwrite.go  writing an archive
package npy
