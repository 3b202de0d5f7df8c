// Package explicit rewrites loops that a strategy marks into nodes and notes that say how the loops
// run. Each form of a loop is one function. A pass of package codegen calls the function after the
// strategy is chosen. Package lower has one case for each node, and does not ask the strategy about
// these forms.
//
// # Loops that are cut for threads
//
// Chunks sets the Cut of the foralls on CPU threads for which the strategy has one. The choice
// "parallelize" makes the cut. A loop without a cut has no chunks: the threads only share the work
// of setting the result to 0. The foralls become new nodes, so Chunks returns a strategy that has
// the same choices on the new nodes.
//
//	forall(i, CPUThread, forall(j, y(i) += B(i,j) * x(j)))
//
//	forall(i, CPUThread, blocks, forall(j, y(i) += B(i,j) * x(j)))
//
// # Loops over positions
//
// Positions rewrites nested foralls that the strategy marks by OverPositions, which the choice
// "flatten" sets. The result has the pattern of an operand, down to the last level that is
// compressed in the result. The marked foralls run over the variables of these levels. Only the
// operand and the result have these variables, except the last one. So the coordinates of the upper
// levels are not needed. Short fibers have no loops of their own, and threads can share the
// positions evenly instead of rows.
//
//	forall(i, CPUThread, forall(j, A(i,j) = B(i,j) * x(j)))
//
//	span(p, i j, B(i,j), chunks(p, 4, positions(p, coord(j, p, at(p, A(i,j) = B(i,j) * x(j))))))
//
// The nodes, from the outermost to the innermost:
//
//   - The span finds the first and the last position that the leaf visits. A call of the leaf
//     may have only a part of the range of i, and the span then has only the positions in this
//     part.
//   - The chunks, for a forall on CPU threads, cut the span at positions. Each chunk has about the
//     same number of positions, plus entries in the levels below.
//   - The positions are the loop.
//   - The coordinate of the last level is loaded only if the body reads the coordinate.
//   - At the position, the cursors of the operand and of the result move to the position. The
//     values that the body reads are loaded here.
//
// The loops inside stay the same nodes, so that the strategy still knows them.
//
// Positions refuses nothing: the choice refuses a command flatten for other loops. The verifier of
// package cin finds nodes at a wrong place, and accesses that need a coordinate that no node loads.
package explicit

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// Chunks sets the field Cut of each loop on CPU threads that strategy v cuts. These loops become
// new nodes. Chunks returns a strategy with the same choices for the new nodes.
func Chunks(v *strategy.Value) *strategy.Value {
	s := cin.Map(v.Stmt, func(t cin.Stmt) cin.Stmt {
		f, ok := t.(*cin.Forall)
		if !ok || f.Unit != cin.CPUThread || v.Of(f).Cut.How == cin.Whole {
			return t
		}
		g := *f
		g.Cut = v.Of(f).Cut
		return &g
	})
	return v.For(s)
}

// Pattern is the operand whose level arrays the result uses, and the formats of both.
type Pattern struct {
	Access         *cin.Access
	Format, Result tensor.Format
}

// Positions returns s with one loop over positions in place of each nest of loops that strategy v
// marks by OverPositions. p is the operand whose levels have the positions. A nest that a call
// replaces stays as it is. The loops in s must be nodes of v.Stmt.
func Positions(s cin.Stmt, v *strategy.Value, p Pattern) cin.Stmt {
	return cin.Descend(s, func(t cin.Stmt) (cin.Stmt, bool) {
		f, ok := t.(*cin.Forall)
		if !ok {
			return nil, false
		}
		if how := v.Of(f); how.OverPositions && how.Gemm == 0 && how.Extern == nil {
			return p.loop(f, v.PerThread, unusedName(s)), true
		}
		return f, true // only outermost loops are marked
	})
}

// loop returns the loop that replaces f and the loops inside it. pos is the name of the position.
// A loop on threads has perThread chunks for each thread, or one chunk if there is one thread.
func (p Pattern) loop(f *cin.Forall, perThread int64, pos string) cin.Stmt {
	last := f
	levels := []string{f.Var}
	for range p.depth() - 1 {
		last = last.Body.(*cin.Forall)
		levels = append(levels, last.Var)
	}
	s := cin.Stmt(&cin.At{Pos: pos, Body: last.Body})
	if p.reads(last) {
		s = &cin.Coord{Var: last.Var, Pos: pos, Body: s}
	}
	s = &cin.Positions{Pos: pos, Body: s}
	if f.Unit == cin.CPUThread {
		s = &cin.Chunks{Pos: pos, PerThread: perThread, Body: s}
	}
	return &cin.Span{Pos: pos, Levels: levels, Access: p.Access, Body: s}
}

// depth returns the number of levels that the operand and the result share: the levels down to the
// last compressed level of the result.
func (p Pattern) depth() int { return p.Result.LastPos() + 1 }

// reads reports whether an access inside f needs the coordinate of f, so that the coordinate must
// be loaded. f is the loop over the last level of the pattern.
func (p Pattern) reads(f *cin.Forall) (found bool) {
	cin.Accesses(f.Body, func(a *cin.Access) {
		vars := a.Vars
		if a.Key() == p.Access.Key() {
			vars = nil
			for _, mode := range p.Format.Order[p.depth():] {
				vars = append(vars, a.Vars[mode])
			}
		}
		found = found || slices.Contains(vars, f.Var)
	})
	return found
}

// unusedName returns a name for a position that no loop or access of s has.
func unusedName(s cin.Stmt) string {
	used := cin.LoopVars(s)
	cin.Walk(s, func(t cin.Stmt) {
		if a, ok := t.(*cin.Assign); ok {
			used = append(used, a.LHS.Name)
			used = append(used, a.LHS.Vars...)
		}
	})
	cin.Accesses(s, func(a *cin.Access) { used = append(append(used, a.Name), a.Vars...) })
	name := "p"
	for slices.Contains(used, name) {
		name += "'"
	}
	return name
}
