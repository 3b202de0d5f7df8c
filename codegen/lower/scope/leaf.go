// Package scope has what lowering knows. A Leaf has what is the same everywhere in a leaf. An Env
// has what is known at a place in the nest of loops. Every function gets the environment of its
// place, and makes a new one for the places inside. Nothing changes an environment after it has
// been handed down.
//
//	spec.go    what is lowered
//	leaf.go    the leaf: its operands, its builder, the strategies of its loops
//	env.go     the environment, in immutable lists (list.go)
//	calls.go   calls of functions of numbers
//	values.go  values of expressions, with the conditions under which they are present
//	result.go  the result, and the result's cursor
//	loops.go   what is open of the loops of a schedule
package scope

import (
	"fmt"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lattice"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/rewrite"
	"distaff/codegen/lower/space"
	"distaff/codegen/lower/tree"
	"distaff/codegen/provenance"
	"distaff/codegen/strategy"
)

// Leaf has the data of one leaf that does not depend on the place in its loops, such as the
// operands, the result and the schedule's variables.
type Leaf struct {
	Spec *Spec
	B    *emit.Builder
	// Ops has the leaf's operands by name. Env.Operand also finds workspaces.
	Ops    map[string]*tree.Operand
	Bounds map[string][2]*ir.Var
	Args   *tree.Arguments
	Out    *Result
	// Threads is the number of threads, or nil if the leaf is serial.
	Threads *ir.Var
	// ResultVars has the variable of each storage level of the result.
	ResultVars []string
	Graph      *provenance.Graph     // the schedule's variables; it is empty without a schedule
	Comps      map[string]*Component // by each variable of a component of Graph

	// Copies has, for loops that lowering made, the loop of the strategy that they are a copy of.
	// It lacks a copy that needs no strategy.
	Copies map[cin.Stmt]*cin.Forall

	// Stmt lowers a statement, and Serial lowers a loop whose iterations run in order. If want is
	// true, they return the condition that the statement assigned a value. If want is false, the
	// caller may only test whether the returned condition is the constant false: then the statement
	// never assigns a value.
	Stmt   func(s cin.Stmt, e *Env, want bool) ir.Expr
	Serial func(f *cin.Forall, e *Env, want bool) ir.Expr

	Lanes *rewrite.Lanes  // the loops that may run in lanes
	Used  *lattice.Record // the lattices of the loops so far
	// Windowed lists the variables whose loops are merged in windows.
	Windowed map[string]bool
	// Called lists the functions of the user and of GPU libraries that the code calls.
	Called map[*strategy.Extern]bool
	// Promotions lists the scalars that replace one value of the result.
	Promotions map[string]bool
	// Tables says how hash tables of a GPU are made at the current place. It is nil where none can
	// be made.
	Tables *space.Tables
	// Numbered has the fused spaces, by their variables, whose number of points is checked at the
	// leaf's start.
	Numbered map[string]bool
}

// Refuse ends the lowering with a refusal. v is the variable of the responsible loop.
func (l *Leaf) Refuse(v, format string, args ...any) {
	panic(&Refusal{Var: v, Why: fmt.Sprintf(format, args...)})
}

// HasDerivedVars reports whether the schedule has made variables. The leaf then computes the
// coordinates of the statement's variables from the new variables. For this computation, each call
// of the leaf must pass the whole range of every variable that is not in Spec.Parts.
func (l *Leaf) HasDerivedVars() bool { return len(l.Graph.Relations()) > 0 }

// Assigns reports whether a statement's target is the result.
func (l *Leaf) Assigns(s cin.Stmt) bool { return cin.Target(s).Name == l.Out.Op.Argument.Name }

// AnyOf combines the conditions under which two cases of a statement assign a value, left and
// right. It returns the constant false only if both cases never assign a value.
func AnyOf(left, right ir.Expr) ir.Expr {
	if ir.IsFalse(right) {
		return left
	}
	return ir.Truth(true)
}

// LoopStrategy returns the strategy of a loop.
func (l *Leaf) LoopStrategy(f *cin.Forall) strategy.Loop {
	return l.Spec.Strategy.Of(l.Source(f))
}

// Source returns the loop that f is a copy of, or f itself if f is not a copy. Lowering makes
// copies of loops. The strategy knows the original loops.
func (l *Leaf) Source(f *cin.Forall) *cin.Forall {
	if g := l.Copies[f]; g != nil {
		return g
	}
	return f
}

// SerialCopy returns a copy of f that runs in order and has the same strategy.
func (l *Leaf) SerialCopy(f *cin.Forall) *cin.Forall {
	g := &cin.Forall{Var: f.Var, Body: f.Body}
	l.Copies[g] = l.Source(f)
	return g
}

// IsChunked reports whether each call of the leaf gets only a chunk of the entries of c's operand.
func (l *Leaf) IsChunked(c *tree.Cursor) bool { return c.Of.Argument.Name == l.Spec.Chunked }

// HasChunk reports whether v is a variable of an operand that the caller passes in chunks, one
// chunk with each call.
func (l *Leaf) HasChunk(v string) (has bool) {
	if l.Spec.Chunked != "" {
		cin.Accesses(l.Spec.Stmt, func(a *cin.Access) {
			has = has || a.Name == l.Spec.Chunked && slices.Contains(a.Vars, l.Graph.Original(v))
		})
	}
	return has
}
