// Package hb reads Harwell-Boeing and Rutherford-Boeing files. They store a matrix in
// compressed columns, in lines with fields of fixed width:
//
//	title                                                              key
//	TOTCRD PTRCRD INDCRD VALCRD [RHSCRD]          numbers of lines
//	TYPE   NROW   NCOL   NNZERO NELTVL            e.g. RUA
//	PTRFMT INDFMT VALFMT [RHSFMT]                 Fortran formats, e.g. (16I5)
//	[RHSTYPE NRHS NRHSIX]                         if RHSCRD > 0
//	column pointers, then row indices, then values
//
// TYPE has three letters. The first is the field: r real, c complex, i integer or p pattern.
// The second is the symmetry: u unsymmetric, r rectangular, s symmetric, z skew-symmetric or h
// Hermitian. The third is a for assembled; elemental matrices (e) are an error. Right-hand
// sides are not read. A file of a symmetric matrix stores one triangle; the stream has both. If
// a file stores both an entry and its mirror image, the stream returns an error at its end.
//
// The format determines the columns of each field; there need not be spaces between fields. A
// number is read as it is written. Its exponent may start with D or E, or with a sign only
// (1.5-100). A number without a point is an integer, although Fortran would insert a decimal
// point: only programs in other languages write numbers without a point. As in Fortran, the
// scale factor of a format (1P) applies only to F fields without an exponent.
//
// A stream has three readers of the file: for the pointers, the indices and the values. So its
// memory does not grow with the file.
//
// # Files
//
//	header.go    the first lines
//	format.go    Fortran's formats
//	cards.go     numbers of fixed width
//	read.go      the stream
//	symmetry.go  values and mirrored entries
//	triangles.go entries whose mirror images are stored too
package hb
