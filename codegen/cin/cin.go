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
// A schedule makes loops over derived variables, and notes on loops: who runs
// the iterations, and how. SuchThat, around a whole statement, holds the
// relations of these variables to the original ones, which accesses name:
//
//	suchthat(forall(i0, forall(i1, forall(j, y(i) += B(i,j) * x(j)))), split(i, i0, i1, 32))
//
// Nodes are immutable: a rewrite makes new ones. String and Parse are the text
// form, both ways; Verify holds a statement to the rules.
//
// # Files
//
//	cin.go     the nodes
//	loops.go   walks over loops and assignments
//	print.go   the text form, which parse.go reads back
//	parse.go   the reader of the text form
//	verify.go  the rules that every statement keeps
//	units.go   those of the units of a GPU
package cin

import (
	"slices"

	"distaff/codegen/ir"
	"distaff/codegen/provenance"
)

// Stmt is a statement: *Forall, *Where, *Assign, *Seq or, outermost, *SuchThat.
type Stmt interface{ stmt() }

type (
	// Forall runs Body for every coordinate of Var.
	Forall struct {
		Var  string
		Body Stmt
		// Unit says who runs the iterations.
		Unit Unit
		// Race says what is done about iterations that write one place. Where
		// a schedule says nothing of it, CPUThread cuts the loop into chunks of
		// about equal work, over a variable of the result.
		Race Race
		// Chunk is the number of consecutive iterations that one thread takes
		// at a time; 0 for even shares.
		Chunk int64
		// Unroll: 0 for a loop that is not unrolled, AllIterations, or a factor.
		Unroll int64
		// Gallop: an intersection searches for the next coordinate in each
		// operand instead of going through all of them.
		Gallop bool
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
	// SuchThat is Body, whose loops run over variables of these relations.
	SuchThat struct {
		Body      Stmt
		Relations *provenance.Graph
		// Insert: a result with compressed levels of its own is counted first and
		// then written to its places, instead of growing in order.
		Insert bool
	}
)

// AllIterations as Forall.Unroll unrolls a loop completely.
const AllIterations = -1

func (*Forall) stmt() {}
func (*Where) stmt()  {}
func (*Assign) stmt() {}
func (*Seq) stmt()    {}

func (*SuchThat) stmt() {}

// Unit is what runs the iterations of a Forall.
type Unit uint8

const (
	Serial    Unit = iota
	CPUThread      // threads, each with a chunk of consecutive iterations
	CPUVector      // the lanes of a vector unit
	GPUBlock       // blocks of a GPU's threads
	GPUWarp        // the warps of a block
	GPUThread      // the threads of a warp, or of a block outside of a loop on warps
)

// Race is what a parallel loop does where iterations may write one place.
type Race uint8

const (
	Unsaid            Race = iota
	NoRaces                // it was proved that none do
	IgnoreRaces            // the user says that none do
	Atomics                // they add atomically
	Temporary              // each thread adds to a copy; the copies are added in order
	ParallelReduction      // they add to one scalar, in parts that are added in order
)

var unitNames = [...]string{Serial: "NotParallel", CPUThread: "CPUThread", CPUVector: "CPUVector",
	GPUBlock: "GPUBlock", GPUWarp: "GPUWarp", GPUThread: "GPUThread"}

func (u Unit) String() string { return unitNames[u] }

// UnitByName is the inverse of String.
func UnitByName(s string) (Unit, bool) {
	k := slices.Index(unitNames[:], s)
	return Unit(max(k, 0)), k >= 0
}

// OnGPU tells whether the unit is one of a GPU.
func (u Unit) OnGPU() bool { return u >= GPUBlock }

var raceNames = [...]string{Unsaid: "", NoRaces: "NoRaces", IgnoreRaces: "IgnoreRaces",
	Atomics:   "Atomics",
	Temporary: "Temporary", ParallelReduction: "ParallelReduction"}

func (r Race) String() string { return raceNames[r] }

// RaceByName is the inverse of String.
func RaceByName(s string) (Race, bool) {
	k := slices.Index(raceNames[1:], s)
	return Race(k + 1), k >= 0
}

// Relations are those of a statement, nil for none.
func Relations(s Stmt) *provenance.Graph {
	if s, ok := s.(*SuchThat); ok {
		return s.Relations
	}
	return nil
}

// Body is a statement without its relations.
func Body(s Stmt) Stmt {
	if s, ok := s.(*SuchThat); ok {
		return s.Body
	}
	return s
}

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
	case *SuchThat:
		return Target(s.Body)
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
	case *SuchThat:
		Accesses(s.Body, fn)
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

// MapAccesses is x with each access in it replaced by what fn makes of it. Expressions that do
// not change are the same afterwards.
func MapAccesses(x Expr, fn func(*Access) *Access) Expr {
	switch x := x.(type) {
	case *Access:
		return fn(x)
	case *Neg:
		if y := MapAccesses(x.X, fn); y != x.X {
			return &Neg{X: y}
		}
	case *Binary:
		p, q := MapAccesses(x.X, fn), MapAccesses(x.Y, fn)
		if p != x.X || q != x.Y {
			return &Binary{Op: x.Op, X: p, Y: q}
		}
	}
	return x
}

// Walk calls fn for s and the statements in it, outer ones first, consumers
// before producers.
func Walk(s Stmt, fn func(Stmt)) {
	fn(s)
	switch s := s.(type) {
	case *SuchThat:
		Walk(s.Body, fn)
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
