// Package libdistaff is the C interface of Distaff: the functions of distaff.h. Package cmd/distaff
// includes this package if it is built as a shared library:
//
//	go build -buildmode=c-shared -tags libdistaff -o libdistaff.so ./cmd/distaff
//
// The library then also has the commands of the program (distaff_command). The Python package in
// the folder python calls the library.
//
// A statement of the library (statement) is prepared once for operands of given layouts. It keeps
// instances, each a spmd.Program of one rank with the prepared statement. A run takes an instance
// that no other run uses, or makes one, so that threads run side by side. The run gives the
// operands the arrays of the caller (program.Statement.Bind), lets the result be written to the
// caller's memory (Into), and calls the leaf on the caller's thread.
//
//	distaff.h       the interface; distaff.c, its functions in C, which call Go
//	bridge.h        declarations for the Go files
//	check.c         checks of operands in each run; check.h
//	numpy.c         runs with NumPy arrays as arguments, for the Python package; numpy.h
//	environment.go  environments and their options
//	tensor.go       tensors of C and of Go
//	statement.go    prepared statements and their instances
//	run.go          runs
//	sparse.go       the format of a result
//	long.go         calls that take long: interruption and progress
//	ranks.go        statements on several ranks of this process
//	files.go        files, conversions, job files and command lines
//	errors.go       errors
package libdistaff
