// Package csv reads and writes tables of entries and lists of edges.
//
// Each line of a file is an entry: its coordinates and, in most files, its value. In .csv and .tsv
// files the columns are coordinates of any number of modes:
//
//	i0,i1,i2,value
//	1,1,1,1.5
//	2,3,1,-2e-3
//
// In .el, .wel and .edges files, a line is an edge of a graph: two nodes and, if edges have
// weights, a weight. Entries without a value have the value 1.
//
// In each of these formats, columns may be separated by commas, semicolons, tabs, bars or white
// space. The first line decides, unless coo.Options.Delimiter is set. A line that starts with '#'
// or '%' is a comment. The first line is a header if none of its fields is a number. Numbers may be
// in quotation marks.
//
// If the number of modes is unknown, the last column is the value. There are two exceptions: an
// edge list has two modes, and two columns are an edge if no header says that the second is a value
// (see valueNames). Two columns named real and imag at the end of a header are a complex value.
//
// Sizes are unknown until the end of the file, as in .tns files.
//
// # Files
//
//	head.go   the first lines, and the number of modes
//	read.go   the stream, and its parts
//	write.go  writing
package csv
