// Package mtx reads and writes Matrix Market files, and TACO's extension of
// them to tensors (.ttx).
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
// Of a matrix with a symmetry, one triangle is stored; the stream has both. An
// entry of either triangle is mirrored; one on the diagonal is not, and must be
// zero in a skew-symmetric and real in a Hermitian matrix. A file that has an entry and
// its mirror image is refused. After the coordinates of a pattern a 1 is passed over, if
// the first entry has one. Words of the banner
// may be in either case. A comment before the sizes that is nearly a banner is taken as one,
// with a note, or refused. A file without a banner is read as a matrix, coordinate,
// real, general. Comments may stand anywhere, %%GraphBLAS ones too.
//
// # Files
//
//	banner.go    the banner, and the sizes
//	read.go      the stream
//	array.go     the array format
//	symmetry.go  entries that are mirrored
//	triangles.go entries whose mirror images are stored too
//	count.go     the announced count
//	part.go      parts of a file, for several readers
//	write.go     writing
package mtx
