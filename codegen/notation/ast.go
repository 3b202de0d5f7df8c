// Package notation parses, checks, prints and normalizes statements in tensor index notation.
//
// A statement assigns an expression over tensor accesses to one access, as in A(i,j) =
// B(i,k)*C(k,j). Parse returns its syntax tree (Stmt). Normalize returns its normal form (Normal),
// from which the compiler starts: a sum of terms, each a product of factors together with the
// variables that the term sums. The normal form multiplies out products of sums, but only when the
// addends sum over different variables.
//
// # Files
//
//	ast.go        the syntax tree and the normal form
//	token.go      tokens, and the syntax of names
//	parse.go      the parser
//	index.go      index expressions: affine forms, and which names are variables
//	expand.go     statements without index expressions, over tensors that are made for them
//	ranges.go     sizes for which all indices are in range
//	hints.go      hints in errors, for users who write the notation of another language
//	einsum.go     einsum strings as statements
//	broadcast.go  statements that broadcast modes of size 1
//	check.go      the checks that need the statement alone
//	old.go        renames the left tensor where the right side reads its old value
//	normal.go     the normal form
//	print.go      the text of statements, expressions and normal forms
//	walk.go       walks over syntax trees and normal forms
//	mapaccess.go  copies a term with other accesses
//	fills.go      absent values other than zero
//	quotients.go  finds quotients that are summed, which users often do not intend
//	sizes.go      infers the sizes of index variables and tensors
//	types.go      infers the types of a computation and its result
//	formats.go    types and formats as flags and job files give them
package notation

import "distaff/codegen/algebra"

// Span is a range of byte offsets in the statement's source text.
type Span struct{ Pos, End int }

// Stmt is one statement, LHS = RHS or LHS += RHS.
type Stmt struct {
	Src        string
	LHS        *Access
	Accumulate bool // +=
	RHS        Expr
	// update is OP= of a statement that is not resolved, or "". Resolve makes it a statement with =.
	update string
	// source is the statement that Expand was called with, if it changed the statement.
	source *Stmt
	// New is set by Expand if the statement assigns a part of the left tensor. RHS then adds the
	// old values of the other parts, and New is the right side without them.
	New Expr
}

// Expr is a node of the expression on the right side.
type Expr interface{ Span() Span }

type (
	// Access is NAME(indices...), or NAME alone for a scalar.
	Access struct {
		Name string
		// Vars has the variable of each mode. It is "" for a mode with another index.
		Vars []string
		At   Span
		// VarAt holds the span of each index.
		VarAt []Span
		// Index is nil if all indices are variables. Otherwise Index[m] is the index of mode m, or
		// nil if it is the variable Vars[m]. Expand removes these indices.
		Index []Expr
		// Outside, if not nil, says for each mode whether "~" is before the index: the tensor is
		// absent outside of its range.
		Outside []bool
		// Made is set if Expand made the tensor. Such a tensor has no name in the source text.
		Made *Made
	}
	// Coordinate is an index variable whose coordinates, counted from 0, are numbers of the
	// expression.
	Coordinate struct {
		Var string
		At  Span
	}
	// Number is a literal. IsInt distinguishes 2 from 2.0 and 2e0. An integer literal does not turn
	// integer arithmetic into floating-point arithmetic.
	Number struct {
		Text  string
		IsInt bool
		Int   int64
		Float float64
		At    Span
	}
	// Neg is -X.
	Neg struct {
		X  Expr
		At Span
	}
	// Binary is X Op Y. Op is '+', '-', '*' or '/'.
	Binary struct {
		Op   byte
		X, Y Expr
	}
	// Sum is sum(vars..., X) or another reduction, Op. It binds Vars in X only.
	Sum struct {
		Op    *algebra.Reduction // nil is a sum
		Vars  []string
		VarAt []Span
		X     Expr
		At    Span
	}
	// Call is Func(Args...).
	Call struct {
		Func *algebra.Function
		Args []Expr
		At   Span
	}
)

func (e *Access) Span() Span     { return e.At }
func (e *Coordinate) Span() Span { return e.At }
func (e *Number) Span() Span     { return e.At }
func (e *Neg) Span() Span        { return e.At }
func (e *Binary) Span() Span     { return Span{e.X.Span().Pos, e.Y.Span().End} }
func (e *Sum) Span() Span        { return e.At }
func (e *Call) Span() Span       { return e.At }

// Normal is the normal form of a statement: LHS = the sum of Terms, or LHS += the sum of Terms.
// Bound variables are renamed, so that each name means one variable in the whole normal form. A
// factor that is an access may have no stored value at a coordinate. Its term then contributes
// nothing there.
type Normal struct {
	Src        string
	LHS        *Access
	Accumulate bool
	Terms      []*Term
	// Vars lists every variable: first the variables of the LHS in their order, then the summed
	// variables in order of appearance.
	Vars []string
	// Source maps a renamed variable to the name that the user wrote.
	Source map[string]string
}

// Term is a signed product of factors, summed over the variables in Sum.
//
// If the term is one of Normal.Terms, Sum lists the term's variables that the left side does not
// have, in order of appearance. It also lists the variables of every enclosing sum() that was
// distributed over the term. If the term is in the body of a Reduction, Sum lists only variables of
// the sums inside the Reduction: the variables of each sum() that was distributed over the term.
type Term struct {
	Negative bool
	Factors  []Factor
	Sum      []string
}

// Factor is *Access, *Number, *Group, *Quotient or *Reduction.
type Factor interface{ factor() }

type (
	// Group is a factor that is not multiplied out: a sum whose addends all sum over the same
	// variables, a call, or the body of a reduction. X is a plain expression, like the two sides of
	// a Quotient.
	Group struct{ X Expr }
	// Quotient is Num / Den. Neither side is multiplied out into the term. The term sums over every
	// variable of Num and Den that the left side does not have. Num and Den are plain expressions:
	// they consist of Access, Number, Neg, Binary, Call and ReductionExpr.
	Quotient struct{ Num, Den Expr }
	// Reduction is an explicit sum() that could not be merged into its term, because it is a factor
	// of a product or part of a quotient. Its value is the sum of Body's terms over Vars. The
	// variables of a further sum() around a whole term of Body are in the term's Sum. The term that
	// has the Reduction as a factor sums over the variables that are free in Body and absent from
	// the left side.
	//
	// If Op is not a sum, the Reduction is another reduction. Body is then one term with the sign +
	// and without a Sum.
	Reduction struct {
		Op   *algebra.Reduction // nil is a sum
		Vars []string
		Body []*Term
	}
	// ReductionExpr makes a Reduction an Expr, for use inside a Group or a Quotient.
	ReductionExpr struct {
		Reduction *Reduction
		At        Span
	}
)

func (*Access) factor()    {}
func (*Number) factor()    {}
func (*Group) factor()     {}
func (*Quotient) factor()  {}
func (*Reduction) factor() {}

func (e *ReductionExpr) Span() Span { return e.At }
