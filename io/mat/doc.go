// Package mat reads and writes MATLAB's files of version 5 (.mat), which MATLAB also calls versions
// 6 and 7.
//
// A file is a header of 128 bytes and a sequence of elements. An element is a tag (a type and a
// number of bytes) and its data. Each variable is an element of type matrix, which consists of
// further elements: flags, sizes, a name, and then arrays. From version 7 on, a variable is a
// matrix compressed by zlib. Files have either byte order. A number may be stored with fewer bytes
// than its class has, for example a double as a byte.
//
// A dense array is stored column by column. A sparse matrix is CSC: row indices (ir), the start of
// each column (jc), values (pr), and imaginary parts (pi). Variables of the classes double, single,
// and of integers are read, also logical ones. Strings, cells and objects are not. A structure's
// fields are variables, called STRUCTURE.FIELD.
//
// Arrays are found by their offset in the decompressed variable. To read several arrays of a
// compressed variable side by side, each has a decompressor of its own.
//
// # Files
//
//	tags.go    elements and their tags
//	scan.go    the variables of a file
//	read.go    a variable as a stream
//	values.go  values as their class says
//	write.go   writing a variable
package mat
