// Package cin is concrete index notation: a statement of tensor index notation
// with its loops, temporaries and their order made explicit, and nothing yet
// said about how a loop finds its coordinates.
//
//	forall(i, where(y(i) = t, forall(j, t += B(i,j) * x(j))))
//
// A Forall runs its body for every coordinate of a variable at which the body
// may have a value. A Where runs its producer, which fills a temporary (a
// scalar, or a workspace over index variables) that starts out empty, then its
// consumer, which reads it. A Seq runs its statements one after another, all of which
// accumulate into the same target. What is absent from every operand is absent
// from the target: a temporary is absent where its producer assigned nothing.
//
// Nodes are immutable: a rewrite makes new ones. String and Parse are the text
// form, both ways; Verify holds a statement to the rules.
package cin

import "distaff/codegen/ir"

// Stmt is a statement: *Forall, *Where, *Assign or *Seq.
type Stmt interface{ stmt() }

type (
	// Forall runs Body for every coordinate of Var.
	Forall struct {
		Var  string
		Body Stmt
		// Unit says who runs the iterations.
		Unit Unit
	}
	// Where computes the temporary that Producer assigns, then runs Consumer.
	Where struct{ Consumer, Producer Stmt }
	// Assign sets LHS (adds to it where Accumulate).
	Assign struct {
		LHS        *Access
		Accumulate bool
		RHS        Expr
	}
	// Seq runs List in order.
	Seq struct{ List []Stmt }
)

func (*Forall) stmt() {}
func (*Where) stmt()  {}
func (*Assign) stmt() {}
func (*Seq) stmt()    {}

// Unit is what runs the iterations of a Forall.
type Unit uint8

const (
	Serial    Unit = iota
	CPUThread      // threads, each with a chunk of consecutive iterations
)

// Expr is a right side: *Access, *Lit, *Neg or *Binary.
type Expr interface{ expr() }

type (
	// Access is a tensor, or a temporary, at index variables, in mode order.
	Access struct {
		Name string
		Vars []string
	}
	// Lit is a number.
	Lit struct {
		Text  string // as the user wrote it
		Value *ir.Lit
	}
	// Neg is -X.
	Neg struct{ X Expr }
	// Binary is X Op Y, Op one of + - * /.
	Binary struct {
		Op   byte
		X, Y Expr
	}
)

func (*Access) expr() {}
func (*Lit) expr()    {}
func (*Neg) expr()    {}
func (*Binary) expr() {}

// Key names an access: accesses of one key have one value wherever both are
// in scope.
func (a *Access) Key() string { return accessText(a) }

// Target is the access that a statement assigns, through loops and consumers.
func Target(s Stmt) *Access {
	switch s := s.(type) {
	case *Forall:
		return Target(s.Body)
	case *Where:
		return Target(s.Consumer)
	case *Seq:
		return Target(s.List[0])
	case *Assign:
		return s.LHS
	}
	panic("BUG: cin.Target: unknown statement")
}

// Accesses calls fn for each access on right sides of s, in producers too, in
// the order of the text.
func Accesses(s Stmt, fn func(*Access)) {
	switch s := s.(type) {
	case *Forall:
		Accesses(s.Body, fn)
	case *Where:
		Accesses(s.Consumer, fn)
		Accesses(s.Producer, fn)
	case *Seq:
		for _, t := range s.List {
			Accesses(t, fn)
		}
	case *Assign:
		ExprAccesses(s.RHS, fn)
	}
}

// ExprAccesses calls fn for each access of x, left to right.
func ExprAccesses(x Expr, fn func(*Access)) {
	switch x := x.(type) {
	case *Access:
		fn(x)
	case *Neg:
		ExprAccesses(x.X, fn)
	case *Binary:
		ExprAccesses(x.X, fn)
		ExprAccesses(x.Y, fn)
	}
}

// Walk calls fn for s and the statements in it, outer ones first, consumers
// before producers.
func Walk(s Stmt, fn func(Stmt)) {
	fn(s)
	switch s := s.(type) {
	case *Forall:
		Walk(s.Body, fn)
	case *Where:
		Walk(s.Consumer, fn)
		Walk(s.Producer, fn)
	case *Seq:
		for _, t := range s.List {
			Walk(t, fn)
		}
	}
}
