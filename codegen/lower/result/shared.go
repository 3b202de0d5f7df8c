package result

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/scope"
	"distaff/codegen/strategy"
)

// sharedResult is a result whose level arrays belong to an operand. Every entry of that operand
// gives a value, or a block of dense levels, at the same position. The leaf writes only values, and
// cannot write to a coordinate that the operand does not have.
type sharedResult struct {
	randomAccess
	// cleared is true if all values are initialized before the first addition (ClearBefore).
	cleared bool
}

func newSharedResult(r *scope.Result) *sharedResult {
	a := &sharedResult{randomAccess: randomAccess{r}}
	r.Values, r.Pattern, r.At = r.Op.Vals(), r.Leaf.Spec.Share, a.at
	return a
}

func (a *sharedResult) at(p ir.Expr) scope.ResultCursor {
	return scope.ResultCursor{Level: a.out.Deep + 1, Pos: p, Zeroed: a.cleared}
}

func (a *sharedResult) clear(lo, hi ir.Expr) {
	a.cleared = true
	size := a.out.Block(a.out.Deep + 1)
	a.out.Leaf.B.Emit(&ir.Fill{A: a.out.Values, Lo: ir.Times(lo, size), Hi: ir.Times(hi, size),
		X: ir.Zero(a.out.Values.Elem)})
}

// ClearBefore emits code before all loops that sets the values of the result to 0. The result
// shares an operand's pattern. In a mapped result, values that another leaf has written are kept.
// ClearBefore emits code in three cases and nothing otherwise. In the first case, the loops visit
// some values, or some blocks of values, several times (revisitsValues). In the second case, it is
// not known at a visit which values are absent (absentInTiles). In the third case, the result is
// mapped and the leaf runs on a GPU.
func ClearBefore(how Assembly, s cin.Stmt, e *scope.Env) {
	l := e.Leaf
	a, ok := how.(clearing)
	if !ok || !revisitsValues(l, s, how) && !(isMapped(how) && l.Spec.GPU) && !absentInTiles(l, s) {
		return
	}
	a.clear(merge.Positions(e.Cur[l.Out.Pattern], l.Out.Deep, e))
}

// ClearAbsent emits code for a place in the loops where the statement computes no values. The code
// sets the values of the result that belong to this place to 0. e is the environment at the place.
// If the result does not share an operand's pattern, ClearAbsent emits nothing.
func ClearAbsent(how Assembly, e *scope.Env) {
	l := e.Leaf
	var shared *sharedResult
	switch a := how.(type) {
	case *sharedResult:
		shared = a
	case *mappedResult:
		shared = &a.sharedResult
	}
	if shared == nil || shared.cleared || e.Res.Zeroed || e.Res.Level > l.Out.Deep {
		return
	}
	c := e.Cur[l.Out.Pattern]
	if ir.IsFalse(c.Present) {
		return
	}
	clear := func() {
		how.(clearing).clear(merge.Positions(c, l.Out.Deep, e))
	}
	if ir.Always(c.Present) {
		clear()
	} else {
		l.B.When(c.Present, clear)
	}
	shared.cleared = false
}

// absentInTiles reports whether some tiles of the result may get no values. The positions of such a
// tile are not one known range, so its values cannot be set to 0 separately. Instead the whole
// result must be set to 0 before all loops.
//
// This can happen if a dense workspace is filled inside loops that the schedule derived, because
// the workspace may then be empty for some tiles. absentInTiles returns true on two conditions. The
// schedule has made variables. The consumer of a dense workspace assigns to the result, and has a
// loop over one of the result's variables or over a variable derived from it. Only the variables of
// the levels down to the last compressed one count.
func absentInTiles(l *scope.Leaf, s cin.Stmt) (found bool) {
	if len(l.Comps) == 0 {
		return false
	}
	cin.Walk(s, func(s cin.Stmt) {
		w, ok := s.(*cin.Where)
		if !ok || !l.Assigns(w.Consumer) ||
			l.Spec.Strategy.Spaces[cin.Target(w.Producer).Name].Form.Kind != strategy.Array {
			return
		}
		cin.Walk(w.Consumer, func(s cin.Stmt) {
			f, ok := s.(*cin.Forall)
			found = found || ok && slices.ContainsFunc(l.Graph.Underived(f.Var),
				func(v string) bool { return slices.Contains(l.ResultVars[:l.Out.Deep+1], v) })
		})
	})
	return found
}

// isMapped reports whether the result is mapped. On a GPU, a mapped result must be set to 0 before
// all loops. Several threads can be at a new position at the same time, because each thread can
// have a part of the block of values there.
func isMapped(how Assembly) bool {
	_, mapped := how.(*mappedResult)
	return mapped
}

// revisitsValues reports whether the loops of s visit a value of the result more than once. It also
// returns true if the loops visit parts of a block of values at different times, but the loops set
// the whole block to 0 at once.
//
// The result's variables down to its last compressed level are the leading variables. The other
// variables are the summed ones, and the variables of dense levels below the first dense level
// under the last compressed one. Parts of the ranges of these dense levels are not set to 0
// separately. Values are visited again if a loop over another variable is around a loop over a
// leading variable, or is fused with such a loop. A loop that is fused over positions is an
// exception: it visits every position once, and adds all terms of the position in sequence.
//
// A mapped result sets a block of values to 0 when the block is first visited. In a mapped result,
// the variables of all dense levels below the last compressed level are therefore other variables.
// Loops fused over positions are then no exception.
func revisitsValues(l *scope.Leaf, s cin.Stmt, how Assembly) bool {
	mapped := isMapped(how)
	compressed := l.ResultVars[:l.Out.Deep+1]
	once := l.ResultVars[:min(l.Out.Deep+2, len(l.ResultVars))]
	if mapped {
		once = compressed
	}
	found := false
	cin.Paths(s, func(loops []*cin.Forall, a *cin.Assign) {
		if a.LHS.Name != l.Out.Op.Argument.Name {
			return
		}
		around := false
		for _, f := range loops {
			roots := l.Graph.Underived(f.Var)
			leading := slices.ContainsFunc(roots,
				func(v string) bool { return slices.Contains(compressed, v) })
			again := slices.ContainsFunc(roots, func(v string) bool { return !slices.Contains(once, v) })
			found = found || leading && (around || again && (mapped || l.Graph.PositionsOf(f.Var) == ""))
			around = around || again
		}
	})
	return found
}
