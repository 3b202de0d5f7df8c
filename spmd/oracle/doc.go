// Package oracle tests the compiler and the runtime with random cases. It generates a case,
// computes the correct result with codegen/reference, and compares it with the result of an
// engine: the interpreter, compiled C, or a whole job on several ranks. Every test that needs
// random cases uses this generator.
//
// A Case is plain data: a statement, and the format, type, sizes and entries of each tensor.
// Generate draws a case, Expect computes its result, an Engine runs it, and Compare compares the
// stored coordinates and the values. Sweep does this for many cases. It reduces a failing case to
// a smaller one (Shrink), which it prints as a case file, as a command line and as a go test
// command. The tests also run the case files in testdata/cases.
//
// Most cases have integer entries, so that values must be equal in every order of evaluation.
// Other cases have infinities, NaN, or values that round. Their results are compared within error
// bounds that the reference computes.
//
// # Files
//
//	case_test.go          Case, its checks, and its expected result
//	distribution_test.go  how a case is distributed over ranks
//	generate_test.go      draws statements and formats
//	follow_test.go        draws statements of special shapes: a result with an operand's pattern
//	network_test.go       draws products of several tensors, and contracts them in various ways
//	data_test.go          draws types, sizes and entries
//	files_test.go         jobs that read and write files
//	texts_test.go         writes operands in text formats
//	text_test.go          case files and command lines
//	assemble_test.go      stores operands
//	forced_test.go        decides whether an operand must be converted
//	engine_test.go        Engine, and the comparison of results
//	pipeline_test.go      compiles a case to a leaf
//	interp_test.go        the engine that interprets leaves
//	c_test.go             the engine that compiles leaves to C
//	job_test.go           the engine that runs whole jobs
//	values_test.go        checks leaves that compute values for a given pattern
//	adds_test.go          checks leaves that add to a dense result
//	sweep_test.go         runs many cases
//	shrink_test.go        reduces failing cases
package oracle
