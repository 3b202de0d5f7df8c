// Package result writes a leaf's result. An assembly knows how: strategy.Assembly chooses it.
//
//	assembly.go  the interface of assemblies
//	dense.go     all levels are dense; random access in general
//	shared.go    the pattern is an operand's
//	mapped.go    the pattern includes an operand's; values are added
//	fixed.go     the pattern is given: the numeric phase, which finds coordinates. It walks the
//	             result's rows if possible. sums.go sums in the result instead of a workspace
//	append.go    coordinates are appended; growing.go, the loops that append; windows.go, sums of
//	             segments that are merged in windows
//	ordered.go   chunks of an appended result, placed one after another while they are made, or
//	joined.go    joined at the end
//	twopass.go   coordinates are counted, then written; on a GPU, row by row
//	classes.go   rows on a GPU by the size of their hash tables
//	parts.go     rows on a GPU that several threads write
//
// Rows that are too long for one thread:
//
//	longrows.go  rows of dense results and shared patterns, each on all threads
//	cuts.go      rows of appended results, which are cut at coordinates inside them
package result

import (
	"fmt"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/scope"
	"distaff/codegen/strategy"
)

// Assembly is the way in which a leaf writes its result. There is one implementation for each
// strategy.Assembly. It is chosen once: loops and assignments only call its methods.
//
// There are two groups of implementations. With random access (dense, shared pattern, mapped),
// values may be written in any order, because a value's position is computed, or is found from the
// position of an operand's entry.
//
// With ordered access (fixed pattern, append, two passes), the coordinates of the result's
// compressed levels are visited in storage order within a chunk, each coordinate once in each pass.
// This does not hold for Summing.Sum, which adds to values of the result in place. An Assembly of
// this group also implements ordered.
type Assembly interface {
	// Whole emits the code that makes the result. run lowers the statement, and may be called
	// twice. parallel is true if loops on threads make the result in chunks.
	Whole(parallel bool, run func())
	// Parallel lowers f as a loop on threads, in chunks of about equal work. long says how the loop
	// handles long rows. Different iterations of f must write different places of the result. In
	// order, f must be over the variable of the result's level 0.
	Parallel(f *cin.Forall, e *scope.Env, long strategy.Long) ir.Expr
	// Store stores x at e's cursor, which has passed all levels. Nothing has been stored at this
	// place before, not even 0.
	Store(x scope.Value, e *scope.Env)
}

// ordered is an assembly in order.
type ordered interface {
	Assembly
	// loop lowers p, which is over compressed level k of the result, and stores or finds the
	// coordinates in this level. It returns the condition that the loop assigned a value.
	loop(p *merge.Loop, k int) ir.Expr
}

// Chunked is an assembly that makes the result from chunks.
type Chunked interface {
	// Chunks makes the result from n chunks, which a schedule's parallel loop over tiles computes.
	// run emits this loop and may be called twice. Each iteration calls open for its chunk c, whose
	// range of level 0's variable begins at lo, and calls closeAt where the range ends, at hi.
	Chunks(n ir.Expr, run func(open func(c, lo ir.Expr), closeAt func(c, hi ir.Expr)))
}

// Summing is an assembly that can compute the sums of a workspace directly in the result's memory,
// so that the workspace needs no memory of its own.
type Summing interface {
	// SumsInPlace reports whether the sums of workspace t can be added directly in the result. This
	// requires that the statement consumer only copies t to level k of the result and the levels
	// below.
	SumsInPlace(consumer cin.Stmt, t *cin.Access, k int) bool
	// Sum lowers a where that SumsInPlace accepts, without its workspace.
	Sum(s *cin.Where, t *cin.Access, e *scope.Env) ir.Expr
}

// The assemblies of each kind.
var (
	_, _, _ ordered  = (*fixedResult)(nil), (*appendResult)(nil), (*twoPassResult)(nil)
	_, _    Chunked  = (*appendResult)(nil), (*twoPassResult)(nil)
	_       Summing  = (*fixedResult)(nil)
	_, _    clearing = (*sharedResult)(nil), (*mappedResult)(nil)
)

// clearing is an assembly that can set values of a pattern to 0.
type clearing interface {
	// clear emits code that sets the values at the positions lo to hi of the last compressed level
	// to 0. In a mapped result these are positions of the operand, and values that another leaf has
	// written are kept.
	clear(lo, hi ir.Expr)
}

// AsSumming returns the assembly a as a Summing, if a can compute the sums of workspace t directly
// in the result's memory. Otherwise it returns nil. consumer is the statement that would copy t to
// level k of the result and the levels below.
func AsSumming(a Assembly, consumer cin.Stmt, t *cin.Access, k int) Summing {
	if s, ok := a.(Summing); ok && s.SumsInPlace(consumer, t, k) {
		return s
	}
	return nil
}

// publish emits code that gives the caller the array arr, which has n elements. level and part say
// which array of the result it becomes, such as the coordinates of level 1.
func publish(r *scope.Result, level int, part ir.Field, arr *ir.Array, n ir.Expr) {
	r.Leaf.B.Emit(&ir.Publish{Slot: ir.Slot{Arg: 0, Level: level, Field: part}, A: arr, Len: n})
}

// NewAssembly returns the implementation of the strategy's assembly.
func NewAssembly(r *scope.Result, how strategy.Assembly) Assembly {
	if r.Op.Argument.Format.AllDense() != (how == strategy.Dense) {
		panic(fmt.Sprintf("BUG: lower: a result of format %s is to be assembled as %v",
			r.Op.Argument.Format, how))
	}
	switch how {
	case strategy.Dense:
		return newDenseResult(r)
	case strategy.SharedPattern:
		return newSharedResult(r)
	case strategy.Mapped:
		return newMappedResult(r)
	case strategy.FixedPattern:
		return newFixedResult(r)
	case strategy.Append:
		r.InOrder = true
		return &appendResult{growing{out: r}}
	case strategy.TwoPass:
		r.InOrder = true
		return &twoPassResult{growing: growing{out: r}}
	}
	panic(fmt.Sprintf("BUG: lower: assembly %v", how))
}

// InOrder lowers the loop p. If the loop must visit the result's coordinates in storage order, the
// assembly lowers the loop, for example to append each coordinate. Otherwise p lowers itself. If
// the assembly makes each row of the result separately, InOrder also tells the assembly which row
// each iteration computes.
func InOrder(a Assembly, p *merge.Loop) ir.Expr {
	if level, ok := merge.LoopsOverResult(p.F, p.E); ok {
		return a.(ordered).loop(p, level)
	}
	if a := rowsOf(a, p.F); a != nil {
		body := p.Body
		p.Body = func(in *scope.Env, want bool) ir.Expr {
			return a.row(in.Coord.At(p.V()), func() ir.Expr { return body(in, want) })
		}
	}
	return p.Loops()
}
