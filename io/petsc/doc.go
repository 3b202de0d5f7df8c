// Package petsc reads and writes PETSc's binary matrices and vectors (.petsc, .dat).
//
// A file is a sequence of objects, as MatView and VecView write them. All numbers are big-endian.
// Integers have 32 bits, or 64 bits in a build of PETSc with 64-bit indices; the first number of
// the file tells. Values are double, complex double or single precision; the file does not say
// which, so it follows from the number of bytes up to the next object or the end of the file.
//
//	matrix        1211216, rows, columns, entries; entries of each row; columns; values
//	dense matrix  1211216, rows, columns, -1; values, row by row
//	vector        1211214, size; values
//
// The options in the text file FILE.info, which PETSc may write beside a file, are ignored.
//
// # Files
//
//	read.go   an object as a stream
//	write.go  writing a matrix or a vector
package petsc
