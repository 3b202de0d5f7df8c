// Package tns reads and writes .tns files, the text format of FROSTT: an entry
// a line, as its coordinates, counted from 1, and its value. '#' starts a
// comment, any white space separates.
//
//	# order 3
//	1 1 1   1.5
//	2 3 1  -2e-3
//
// The format has no header. The number of columns of the first line is that of
// all; the sizes of the modes are not known before the end, and then only from
// below. A single column is the value of a tensor of order 0.
//
// ParTI's dialect has a header of two lines, the order and the sizes. A file is
// read so if its first line is one integer N >= 1 and its second line N
// integers:
//
//	3
//	100 80 60
//	1 4 1 1.0
//
// Values are real. Complex tensors are written with two columns for a value,
// after a first line that says so (ComplexMark): without it the columns of a
// complex tensor of order n are those of a real one of order n+1.
//
// # Files
//
//	read.go   the stream
//	part.go   parts of a file, for several readers
//	write.go  writing
package tns

// ComplexMark is the comment that announces values of two columns.
const ComplexMark = "# distaff: complex values, real and imaginary part"
