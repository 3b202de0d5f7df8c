// Package cin is concrete index notation: a statement of tensor index notation whose loops,
// temporaries and order of execution are explicit. It does not yet say how a loop finds the
// coordinates that it visits.
//
//	forall(i, where(y(i) = t, forall(j, t += B(i,j) * x(j))))
//
// A Forall runs its body for every coordinate of a variable where the body may have a value. A
// Where first runs its producer, which fills a temporary (a scalar, or a workspace over index
// variables) that starts out empty. It then runs its consumer, which reads the temporary. A Seq
// runs its statements one after another; all of them accumulate into the same target. If a
// coordinate is absent from every operand, it is absent from the target. A temporary is absent if
// its producer assigned nothing.
//
// A schedule makes loops over derived variables. It also notes on a loop which unit runs the
// iterations and how. SuchThat surrounds a whole statement and holds the relations between the
// derived variables and the original variables. Accesses name the original variables:
//
//	suchthat(forall(i0, forall(i1, forall(j, y(i) += B(i,j) * x(j)))), split(i, i0, i1, 32))
//
// The nodes of explicit.go also say how a loop finds its coordinates. Package explicit makes them
// from foralls that a strategy marks, and package lower has a case for each.
//
// Nodes are immutable: a rewrite makes new nodes. String prints the text form and Parse reads it.
// Verify checks the rules of a statement.
//
// # Files
//
//	cin.go       the nodes
//	explicit.go  the nodes of loops over positions
//	cut.go       the ways of cutting a loop for threads
//	loops.go     walks over loops and assignments
//	print.go     the text form, which parse.go reads back
//	parse.go     the reader of the text form
//	verify.go    the rules that every statement keeps
//	units.go     the rules for loops on the units of a GPU
package cin

import (
	"slices"

	"distaff/codegen/algebra"
	"distaff/codegen/ir"
	"distaff/codegen/provenance"
)

// Stmt is a statement: *Forall, *Where, *Assign, *Seq, a node of explicit.go or, outermost,
// *SuchThat.
type Stmt interface{ stmt() }

type (
	// Forall runs Body for every coordinate of Var.
	Forall struct {
		Var  string
		Body Stmt
		// Unit is the hardware unit that runs the iterations.
		Unit Unit
		// Race says how iterations that write to the same place are kept apart. If Unit is
		// CPUThread and the schedule names no strategy (Unsaid), the loop must run over a variable
		// of the result, and it is cut into chunks of about equal work.
		Race Race
		// Chunk is the number of consecutive iterations that one thread of a CPU, or one block of a
		// GPU, takes at a time. The threads of a block share the block's iterations. If Chunk is 0,
		// every thread of a CPU takes an equal share, and every block takes one iteration.
		Chunk int64
		// Cut says how a loop on CPUThread is cut for the threads if the schedule names no strategy
		// for races. Package explicit sets it.
		Cut Cut
		// Unroll is 0 for a loop that is not unrolled, AllIterations for a completely unrolled
		// loop, or else the unroll factor.
		Unroll int64
		// If Gallop is true, an intersection searches each operand for the next coordinate, instead
		// of advancing through all its coordinates.
		Gallop bool
	}
	// Where computes the temporary that Producer assigns, then runs Consumer.
	Where struct{ Consumer, Producer Stmt }
	// Assign sets LHS to RHS, or adds RHS to it if Accumulate is set. If Op is not nil, it combines
	// LHS and RHS by the reduction Op instead; LHS is then a scalar temporary and Accumulate is false.
	Assign struct {
		LHS        *Access
		Accumulate bool
		Op         *algebra.Reduction
		RHS        Expr
	}
	// Seq runs List in order.
	Seq struct{ List []Stmt }
	// SuchThat is a statement, Body, and the relations that define the derived variables of its
	// loops.
	SuchThat struct {
		Body      Stmt
		Relations *provenance.Graph
		// Insert makes the leaf assemble a result with compressed levels in two passes: the first
		// counts the entries, the second writes each to its place. Otherwise the result grows in
		// order.
		Insert bool
	}
)

// AllIterations is the value of Forall.Unroll that unrolls a loop completely.
const AllIterations = -1

func (*Forall) stmt() {}
func (*Where) stmt()  {}
func (*Assign) stmt() {}
func (*Seq) stmt()    {}

func (*SuchThat) stmt() {}

// Unit is the hardware unit that runs the iterations of a Forall.
type Unit uint8

const (
	Serial    Unit = iota
	CPUThread      // CPU threads, each with a chunk of consecutive iterations
	CPUVector      // the lanes of a vector unit
	GPUBlock       // the blocks of a GPU
	GPUWarp        // the warps of a block
	GPUThread      // the threads of a warp; in a block without loops on warps, the block's threads
)

// Race is the strategy of a parallel loop whose iterations may write to the same place.
type Race uint8

const (
	Unsaid            Race = iota // the schedule names no strategy
	NoRaces                       // it was proved that no two iterations write to one place
	IgnoreRaces                   // the user promises that no two iterations do
	Atomics                       // iterations add atomically
	Temporary                     // each thread adds to its own copy; the copies are added in order
	ParallelReduction             // threads sum parts of one scalar; the parts are added in order
)

var unitNames = [...]string{Serial: "NotParallel", CPUThread: "CPUThread", CPUVector: "CPUVector",
	GPUBlock: "GPUBlock", GPUWarp: "GPUWarp", GPUThread: "GPUThread"}

func (u Unit) String() string { return unitNames[u] }

// UnitByName returns the unit whose String is s. The second result is false if there is none.
func UnitByName(s string) (Unit, bool) {
	k := slices.Index(unitNames[:], s)
	return Unit(max(k, 0)), k >= 0
}

// IterationUnit returns the unit that runs one iteration of the loop.
func (f *Forall) IterationUnit() Unit {
	if f.Unit == GPUBlock && f.Chunk > 0 {
		return GPUThread
	}
	return f.Unit
}

// OnGPU reports whether the unit belongs to a GPU.
func (u Unit) OnGPU() bool { return u >= GPUBlock }

var raceNames = [...]string{Unsaid: "", NoRaces: "NoRaces", IgnoreRaces: "IgnoreRaces",
	Atomics:   "Atomics",
	Temporary: "Temporary", ParallelReduction: "ParallelReduction"}

func (r Race) String() string { return raceNames[r] }

// RaceByName returns the strategy whose String is s. The second result is false if there is none,
// or if s is "", the String of Unsaid.
func RaceByName(s string) (Race, bool) {
	k := slices.Index(raceNames[1:], s)
	return Race(k + 1), k >= 0
}

// Relations returns the relations of s, or nil if s is not a SuchThat.
func Relations(s Stmt) *provenance.Graph {
	if s, ok := s.(*SuchThat); ok {
		return s.Relations
	}
	return nil
}

// Body returns the statement inside a SuchThat, or s itself if it is another statement.
func Body(s Stmt) Stmt {
	if s, ok := s.(*SuchThat); ok {
		return s.Body
	}
	return s
}

// WithBody returns s with another body: body itself, or body inside the SuchThat of s.
func WithBody(s, body Stmt) Stmt {
	if t, ok := s.(*SuchThat); ok {
		return withInner(t, body)
	}
	return body
}

// Expr is an expression on the right-hand side: *Access, *Lit, *Neg, *Binary or *Call.
type Expr interface{ expr() }

type (
	// Access reads or writes a tensor or a temporary. Vars are its index variables in mode order; a
	// scalar has none.
	Access struct {
		Name string
		Vars []string
	}
	// Lit is a literal number.
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
	// Call is Func(Args...).
	Call struct {
		Func *algebra.Function
		Args []Expr
	}
)

func (*Access) expr() {}
func (*Lit) expr()    {}
func (*Neg) expr()    {}
func (*Binary) expr() {}
func (*Call) expr()   {}

// With returns a copy of a with another right side.
func (a *Assign) With(rhs Expr) *Assign {
	b := *a
	b.RHS = rhs
	return &b
}

// Key returns the text of the access. Two accesses with the same key have the same value in any
// scope that contains both.
func (a *Access) Key() string { return accessText(a) }

// Target returns the access that s assigns to. It looks inside loops and inside the consumer of a
// Where.
func Target(s Stmt) *Access {
	switch s := s.(type) {
	case *Where:
		return Target(s.Consumer)
	case *Seq:
		return Target(s.List[0])
	case *Assign:
		return s.LHS
	}
	if t := Inner(s); t != nil {
		return Target(t)
	}
	panic("BUG: cin.Target: unknown statement")
}

// Accesses calls fn for each access on the right side of an assignment in s, in the order of the
// text. Assignments in producers are included.
func Accesses(s Stmt, fn func(*Access)) {
	Walk(s, func(t Stmt) {
		if a, ok := t.(*Assign); ok {
			ExprAccesses(a.RHS, fn)
		}
	})
}

// ExprAccesses calls fn for each access of x, from left to right.
func ExprAccesses(x Expr, fn func(*Access)) {
	switch x := x.(type) {
	case *Access:
		fn(x)
	case *Neg:
		ExprAccesses(x.X, fn)
	case *Binary:
		ExprAccesses(x.X, fn)
		ExprAccesses(x.Y, fn)
	case *Call:
		for _, y := range x.Args {
			ExprAccesses(y, fn)
		}
	}
}

// MapAccesses returns x with each access replaced by fn's result. Subexpressions that do not change
// are reused.
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
	case *Call:
		c := x.MapArgs(func(y Expr) Expr { return MapAccesses(y, fn) })
		if !slices.Equal(c.Args, x.Args) {
			return c
		}
	}
	return x
}

// MapArgs returns a copy of the call with f(y) in place of each argument y.
func (c *Call) MapArgs(f func(Expr) Expr) *Call {
	out := &Call{Func: c.Func}
	for _, y := range c.Args {
		out.Args = append(out.Args, f(y))
	}
	return out
}

// Walk calls fn for s and all statements inside it. An outer statement comes before inner
// statements, and a consumer before its producer.
func Walk(s Stmt, fn func(Stmt)) {
	fn(s)
	if b := Inner(s); b != nil {
		Walk(b, fn)
		return
	}
	switch s := s.(type) {
	case *Where:
		Walk(s.Consumer, fn)
		Walk(s.Producer, fn)
	case *Seq:
		for _, t := range s.List {
			Walk(t, fn)
		}
	}
}
