// Package tns reads and writes .tns files, the text format of FROSTT. Each line is an entry:
// its coordinates, counted from 1, and its value, separated by white space. '#' starts a
// comment.
//
//	# order 3
//	1 1 1   1.5
//	2 3 1  -2e-3
//
// The format has no header. All lines have the same number of columns as the first. The sizes
// of the modes are unknown until the end of the file; then the largest coordinates are a lower
// bound. A single column is the value of a tensor of order 0.
//
// ParTI's dialect has a header of two lines: the order and the sizes. A file is read as this
// dialect if its first line is one integer N >= 1 and its second line is N integers:
//
//	3
//	100 80 60
//	1 4 1 1.0
//
// Values are real. A complex tensor is written with two columns for a value, after a line that
// announces them (ComplexMark). Without that line, a complex tensor of order n would have the
// columns of a real tensor of order n+1.
//
// Two further kinds of headers are read. A file of the Tensor Toolbox starts with the word
// sptensor, the order, the sizes and the number of entries, or with the word tensor, the order and
// the sizes; then the values of a dense tensor follow, the first mode fastest. MLIR writes, after a
// comment, the order and the number of entries in a line, and the sizes in the next:
//
//	# extended FROSTT format
//	3 1
//	100 80 60
//	1 4 1 1.0
//
// # Files
//
//	read.go   the stream
//	heads.go  headers of the Tensor Toolbox and of MLIR
//	part.go   parts of a file, for several readers
//	write.go  writing
package tns

// ComplexMark is the comment that announces values of two columns.
const ComplexMark = "# distaff: complex values, real and imaginary part"
