// Package notation is tensor index notation: its syntax tree, parser,
// checker, printer and normal form.
//
// A statement assigns an expression over tensor accesses to one access. The
// normal form (Normalize) is what the compiler starts from: a sum of terms,
// products of sums multiplied out where that matters, each term with the variables that it sums.
//
// # Files
//
//	ast.go        the syntax tree, and the normal form
//	token.go      tokens, and what a name is
//	parse.go      the parser
//	hints.go      what other notations mean in this one, for its errors
//	check.go      what a statement must keep
//	old.go        the old value of the left tensor, on the right side
//	normal.go     the normal form
//	print.go      the text forms
//	walk.go       walks over both forms
//	mapaccess.go  terms with other accesses
//	quotients.go  quotients that are summed, of which a user is told
//	sizes.go      sizes of index variables, inferred
//	types.go      types, inferred
package notation

// Span is a range of byte offsets in the statement's source text.
type Span struct{ Pos, End int }

// Stmt is one statement, LHS = RHS or LHS += RHS.
type Stmt struct {
	Src        string
	LHS        *Access
	Accumulate bool // +=
	RHS        Expr
}

// Expr is a node of the right side.
type Expr interface{ Span() Span }

type (
	// Access is NAME(vars...), or a bare NAME, which is a scalar.
	Access struct {
		Name string
		Vars []string
		At   Span
		// VarAt holds the span of each variable.
		VarAt []Span
	}
	// Number is a literal. IsInt tells 2 from 2.0 and 2e0: an integer literal
	// takes part in integer arithmetic.
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
	// Binary is X Op Y with Op one of '+', '-', '*', '/'.
	Binary struct {
		Op   byte
		X, Y Expr
	}
	// Sum is sum(vars..., X). Its variables are bound in X alone.
	Sum struct {
		Vars  []string
		VarAt []Span
		X     Expr
		At    Span
	}
)

func (e *Access) Span() Span { return e.At }
func (e *Number) Span() Span { return e.At }
func (e *Neg) Span() Span    { return e.At }
func (e *Binary) Span() Span { return Span{e.X.Span().Pos, e.Y.Span().End} }
func (e *Sum) Span() Span    { return e.At }

// Normal is the normal form of a statement: LHS (=|+=) the sum of Terms.
// Bound variables are renamed apart, so that a name means one variable in the
// whole of it. An absent value annihilates the term (see SPEC).
type Normal struct {
	Src        string
	LHS        *Access
	Accumulate bool
	Terms      []*Term
	// Vars lists every variable: those of the LHS in its order, then the
	// summed ones in order of appearance.
	Vars []string
	// Source maps a renamed variable to the name that the user wrote.
	Source map[string]string
}

// Term is a signed product of factors, summed over Sum (the variables that
// the term holds and the left side lacks, in order of appearance, together
// with those of an enclosing sum() that was distributed over it).
type Term struct {
	Negative bool
	Factors  []Factor
	Sum      []string
}

// Factor is *Access, *Number, *Group, *Quotient or *Reduction.
type Factor interface{ factor() }

type (
	// Group is a sum that stands beside other factors and is not multiplied
	// out, since each of its addends sums over the same variables. X is a plain
	// expression, as a Quotient's sides are.
	Group struct{ X Expr }
	// Quotient is Num / Den, one unit: neither side is multiplied out into
	// the term, and every variable of either that the left side lacks is
	// summed by the term. Num and Den are plain expressions (Access, Number,
	// Neg, Binary, *Reduction wrapped as ReductionExpr).
	Quotient struct{ Num, Den Expr }
	// Reduction is an explicit sum() that could not be merged into its term
	// (it stands beside factors under * or inside a quotient): its value is
	// the sum over Vars of Body's terms; a body term's Sum has the variables of
	// further sum()s around it. A variable that is free in Body and on the left
	// nowhere is summed by the term that holds the factor.
	Reduction struct {
		Vars []string
		Body []*Term
	}
	// ReductionExpr lets a Reduction stand in the expression of a group or a quotient.
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
