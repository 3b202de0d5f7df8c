// Package ir is the imperative, target-neutral representation of a leaf. codegen/emit/c prints C
// from it, codegen/emit/cuda prints CUDA, and codegen/interp runs it.
//
// Expressions are pure and immutable. A Var is a scalar local variable and an Array is a handle on
// memory. Both are compared by pointer; their names are unique within a function. Memory is typed:
// an Array has one element type. Coordinates and positions are computed as Int64. Pos and crd
// arrays may hold 32-bit integers, which are widened when they are loaded.
//
// Every engine computes the same values: integers wrap; a sum of Bools is true if one of them is, and
// a product if both are; a float32 or complex64 operation rounds to
// its type; Min and Max of floats are (y < x ? y : x) and (x < y ? y : x); complex products and
// quotients are computed by MulComplex and DivComplex. Only generated C may fuse a multiplication
// with an addition, and reorder the sums of Reduce.
//
// The constructors (Plus, Less, At, Seq, ...) fold constants. Verify checks the rules of a
// well-formed Func, Simplify shortens it, and Print and Parse write and read its text form.
//
// # Operations
//
// An operation is a type of statement with a row: its text form, its operands with their roles, and
// its traits. Print, Parse, Walk, Simplify and Verify follow from the row, and so do the analyses
// of other packages, which call WalkRows. Only the interpreter and the emitters have code of their
// own for an operation.
//
// An expression has no row. Each function that treats kinds of expressions differently has a case
// for its type: docs/extending.md lists them.
//
// # Files
//
//	ir.go           expressions, arrays and functions
//	row.go          rows: roles, operands and traits
//	stmt.go         scalar statements and control flow
//	memory.go       statements that make, free and hand over arrays and tables
//	elements.go     statements that visit many elements of arrays
//	launch.go       launches on a GPU, and statements of their threads
//	gemm.go         products of dense matrices
//	spmm.go         products of a sparse matrix and a dense matrix
//	union.go        sums of sparse segments
//	call.go         calls of the user's C functions
//	types.go        value types
//	build.go        constructors
//	fold.go         constant folding
//	complex.go      complex products and quotients, and casts to integers
//	simplify.go     simplification that keeps the meaning of a function
//	carry.go        loops over consecutive segments that share their position
//	inplace.go      reads of an argument from the result's memory
//	polynomial.go   index expressions in a normal form, to compare them
//	walk.go         walks over statements and expressions
//	print.go        the text form, which parse.go reads back
//	lex.go          its tokens
//	parse.go        the parser of statements
//	parseexpr.go    the parser of expressions
//	verify.go       the rules of statements
//	verifyexpr.go   the rules of expressions
//	verifyloop.go   the rules of loops, and of variables and arrays declared in them
package ir

import (
	"distaff/codegen/algebra"
	"distaff/io/tensor"
)

// Op is a unary or binary operator.
type Op uint8

const (
	Add Op = iota
	Sub
	Mul
	Div // integer division truncates; the lowering must guard against zero divisors
	Rem
	BitAnd // of integers, bit by bit
	Min
	Max
	And // Bool, short-circuit
	Or  // Bool, short-circuit
	Eq
	Ne
	Lt
	Le
	Neg // unary
	Not // unary
)

// Expr is a pure expression.
type Expr interface{ Type() tensor.Type }

type (
	Var struct {
		Name string
		Typ  tensor.Type
	}
	Lit struct {
		Typ tensor.Type
		I   int64      // Bool (0, 1) and integers
		C   complex128 // floats and complex; floats in the real part
		// At is the place in the statement of the number from which the literal was made, as a byte
		// offset that starts at 1. It is 0 for the compiler's own literals. Texts of the IR do not
		// show it.
		At int
	}
	Binary struct {
		Op   Op
		X, Y Expr
	}
	Unary struct {
		Op Op
		X  Expr
	}
	// Load reads A[Index]. Its type is A.Elem. If Widen is set, A is a pos or crd array of either
	// width and the value is an Int64.
	Load struct {
		A     *Array
		Index Expr
		Widen bool
	}
	// Cast converts X to Typ. Integers wrap and floats round. A float is truncated to an integer
	// and saturates (see TruncateTo). A complex number becomes a float by dropping the imaginary
	// part. A number becomes a Bool: true if it differs from zero.
	Cast struct {
		Typ tensor.Type
		X   Expr
	}
	// Select is X if Cond holds, and otherwise Y. Only the chosen operand is evaluated.
	Select struct{ Cond, X, Y Expr }
	// Apply is Func(X) or Func(X, Y). Y is nil if the function has one argument. The arguments and
	// the value have one type, Float32 or Float64.
	Apply struct {
		Func *algebra.Function
		X, Y Expr
	}
	// Search is a binary search over A, which must ascend. Its value is the first p in [Lo, Hi)
	// with A[p] >= Key (A[p] > Key if Upper), or Hi if there is none. Its type is Int64.
	Search struct {
		A           *Array
		Lo, Hi, Key Expr
		Upper       bool
	}
)

// Array is a handle on a block of memory of one element type.
type Array struct {
	Name  string
	Elem  tensor.Type
	Const bool // nothing stores to the array, so that threads may share it
}

// Table is an array whose entries are arrays of one element type. Each iteration of a Parallel loop
// puts the array that it made into the table, and a later loop gathers the arrays.
type Table struct {
	Name string
	Elem tensor.Type
}

// FailCode is the return value of a leaf.
type FailCode int

const (
	OK          FailCode = 0
	FailMemory  FailCode = 1
	FailDivide  FailCode = 2 // integer division by zero
	FailBound   FailCode = 3 // a bound() of the schedule does not hold
	FailSpace   FailCode = 4 // the number of points of fused variables overflows; Coord: their sizes
	FailPattern FailCode = 5 // the result's level arrays have another sparsity pattern
)

// Field names a field of a tensor argument.
type Field uint8

const (
	Pos  Field = iota // array
	Crd               // array
	Vals              // array; Level is ignored
	// Vals as an array, shifted so that the rows of level 0 start at coordinate 0. Level is the
	// last level. All levels are dense.
	Rows
	Size   // Int64, of a dense level
	Offset // Int64, of a dense level
	NNZ    // Int64, length of vals
	// Int64: the position after the last element of crd, relative to the whole tensor. If crd holds
	// the whole tensor's coordinates, End is its length.
	End
)

// Slot names a field of a tensor argument. Arg is the index of the argument, Level the level.
type Slot struct {
	Arg, Level int
	Field      Field
}

// Param binds a slot of an argument to a local name: A if it is an array, V if it is a scalar.
type Param struct {
	Slot Slot
	A    *Array
	V    *Var
}

// Func is one leaf. Its C signature is
//
//	int NAME(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
//
// Bounds[k] are the variables that receive bounds[k][0] and bounds[k][1]; Threads receives
// env->threads. A variable that is not used may be nil.
type Func struct {
	Name    string
	Params  []Param
	Bounds  [][2]*Var
	Threads *Var
	Body    *Block
}
