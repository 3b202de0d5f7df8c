// Package oracle makes random cases, says what is right for each
// (codegen/reference), and holds engines to it: the interpreter, compiled C,
// ranks. It is the one generator that every test with random cases uses.
//
// A Case is plain data: a statement, and for each tensor its format, type,
// sizes and entries. Generate makes one from a random source; Expect evaluates
// it; an Engine runs it; Compare holds the engine's output, pattern and values,
// to what is expected. Sweep does so for many, and a failure is made small
// (Shrink) and printed as a case file, a command line and a go test line.
// Case files under testdata/cases are run again by every sweep of the tests.
//
// Entries are integers in most cases, so that values must be equal whatever
// the order of evaluation; a fraction of cases has infinities, NaN, or values
// that round, and is compared within the reference's bounds.
//
// # Files
//
//	case.go          a case
//	distribution.go  how it is distributed over ranks
//	generate.go      random cases
//	network.go       products of many tensors, and their contractions
//	data.go          their values
//	follow.go        results with an operand's pattern
//	files.go         operands and results in files,
//	texts.go         in text formats
//	text.go          cases as files
//	assemble.go      operands stored
//	forced.go        operands that must be converted
//	engine.go        Engine, and how results are compared
//	pipeline.go      a case compiled
//	interp.go        the interpreter
//	c.go             compiled C
//	job.go           whole jobs
//	values.go        leaves that compute values alone
//	adds.go          leaves that add to a dense result
//	sweep.go         many cases
//	shrink.go        small failing cases
package oracle
