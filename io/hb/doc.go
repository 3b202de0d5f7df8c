// Package hb reads Harwell-Boeing and Rutherford-Boeing files, compressed
// columns in cards of fixed width:
//
//	title                                                              key
//	TOTCRD PTRCRD INDCRD VALCRD [RHSCRD]          numbers of lines
//	TYPE   NROW   NCOL   NNZERO NELTVL            e.g. RUA
//	PTRFMT INDFMT VALFMT [RHSFMT]                 Fortran formats, e.g. (16I5)
//	[RHSTYPE NRHS NRHSIX]                         if RHSCRD > 0
//	column pointers, then row indices, then values
//
// TYPE's letters are the field (r real, c complex, i integer, p pattern), the
// symmetry (u none, r none and rectangular, s symmetric, z skew, h Hermitian) and
// a for assembled; elemental matrices (e) are refused. Right-hand sides are not
// read. Of a symmetric matrix one triangle is stored; the stream has both, and a file in
// which an entry and its mirror image are stored is refused at its end.
//
// Fields are cut by column as the format says, with or without blanks between
// them. A number is taken as it is written: with an exponent of D, E or none but
// its sign (1.5-100), and without a point as an integer, where Fortran would put
// one in (only a program in another language leaves it out). The scale factor of
// a format (1P) concerns F fields without exponent alone, as in Fortran.
//
// A stream has three readers of the file, at the pointers, the indices and the
// values, so that its memory does not grow with the file.
//
// # Files
//
//	header.go    the first lines
//	format.go    Fortran's formats
//	cards.go     numbers of fixed width
//	read.go      the stream
//	symmetry.go  values, and entries that are mirrored
//	triangles.go entries whose mirror images are stored too
package hb
