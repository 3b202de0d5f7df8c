// Package mtx reads and writes Matrix Market files, and TACO's extension of them to tensors
// (.ttx).
//
// A file starts with a banner, comments ('%'), and a line of sizes:
//
//	%%MatrixMarket OBJECT FORMAT FIELD SYMMETRY
//
//	OBJECT    matrix, vector or tensor (order 2, 1, any)
//	FORMAT    coordinate: sizes and the number of entries, then an entry a
//	          line, coordinates from 1 and a value; array: sizes, then every
//	          value, first mode fastest, one a line
//	FIELD     real, double, integer, unsigned-integer, complex (two numbers) or
//	          pattern (none, all are 1)
//	SYMMETRY  general, symmetric, skew-symmetric or hermitian
//
// The words of the banner may be in upper or lower case. A comment before the sizes that is
// almost a banner is read as a banner, with a note to the user, or is an error. A file without
// a banner is read as matrix, coordinate, real, general. Comments may be anywhere, including
// %%GraphBLAS comments. If the first entry of a pattern has a 1 after its coordinates, this
// column is ignored.
//
// A file of a matrix with a symmetry stores one triangle; the stream has both. An entry of
// either triangle is mirrored. An entry on the diagonal is not mirrored; it must be zero in a
// skew-symmetric matrix and real in a Hermitian matrix. A file that stores both an entry and
// its mirror image is an error.
//
// # Files
//
//	banner.go    the banner and the sizes
//	read.go      the stream
//	array.go     the array format
//	symmetry.go  mirrored entries
//	triangles.go entries whose mirror images are stored too
//	count.go     the announced count
//	part.go      parts of a file, for several readers
//	write.go     writing
package mtx
