package result

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/units"
	"distaff/codegen/strategy"
)

// longDenseRows handles the rows of a dense result, or of a shared pattern, that have too many
// entries for one thread. The parallel loop leaves them out. They are computed after the loop, one
// after another, each divided among the threads as long.Parts says.
type longDenseRows struct {
	l       *scope.Leaf
	long    strategy.Long
	body    cin.Stmt  // the loop's body, with the loop along the row on threads
	leftOut *ir.Array // by chunk: whether it left a row out
	// zeroed is true if the chunks set the result to 0 before they write values.
	zeroed bool
}

// newLongDenseRows returns the state for the long rows of the parallel loop f. w divides the work
// of f among threads. A row of the operand long.Key is long if it has more than long.N entries. The
// body of f must process the segment of a sparse level in one of three ways: it sums the segment
// into a scalar, it sums the segment into a row of a dense result, or it writes values at the
// segment's positions in a shared pattern.
func newLongDenseRows(l *scope.Leaf, f *cin.Forall, w *units.Work,
	long strategy.Long) *longDenseRows {
	h := &longDenseRows{l: l, long: long}
	parted := func(s cin.Stmt) *cin.Forall {
		p, ok := s.(*cin.Forall)
		if !ok || w.Key != long.Key {
			panic("BUG: lower: the loop over " + f.Var + " has no loop along the rows of " + long.Key)
		}
		g := &cin.Forall{Var: p.Var, Unit: cin.CPUThread, Cut: long.Parts, Body: p.Body}
		l.Copies[g] = l.Source(p)
		return g
	}
	if s, ok := f.Body.(*cin.Where); ok {
		h.body = &cin.Where{Consumer: s.Consumer, Producer: parted(s.Producer)}
	} else {
		h.body = parted(f.Body)
	}
	return h
}

// isLong returns the condition that the current row is long. rowEnv is the environment of the row.
func (h *longDenseRows) isLong(rowEnv *scope.Env) ir.Expr {
	c := rowEnv.Cur[h.long.Key]
	if c.Level != 1 || ir.IsFalse(c.Present) {
		return ir.Truth(false)
	}
	pos := c.Of.Pos(1)
	return ir.Both(c.Present, ir.Greater(
		ir.Minus(ir.Coord(pos, ir.Plus(c.Pos, ir.Int(1))), ir.Coord(pos, c.Pos)), ir.Int(h.long.N)))
}

// loop lowers the part of loop f that one chunk computes. The emitted code skips long rows, which
// lowerLong handles later. If it skips a row, it sets element chunk of the array h.leftOut. If the
// returned condition is the constant false, the loop never assigns a value. The caller must not use
// the condition for anything else.
func (h *longDenseRows) loop(f *cin.Forall, e *scope.Env, chunk ir.Expr) ir.Expr {
	l := h.l
	p := &merge.Loop{F: f, E: e, Body: func(in *scope.Env, _ bool) ir.Expr {
		long := h.isLong(in)
		some := ir.Expr(ir.Truth(false))
		body := l.B.Within(func() { some = l.Stmt(f.Body, in, false) })
		switch {
		case ir.IsFalse(long):
			l.B.Append(body)
		default:
			leave := l.B.Within(func() { l.B.Store(h.leftOut, chunk, ir.Truth(true)) })
			l.B.Emit(&ir.If{Cond: long, Then: leave, Else: body})
		}
		return some
	}}
	some := p.Loops()
	h.zeroed = p.E.Res.Zeroed
	return some
}

// lowerLong emits the code that computes the rows that the chunks left out.
func (h *longDenseRows) lowerLong(f *cin.Forall, e *scope.Env, w *units.Work) {
	l := h.l
	l.B.Loop("chunk", ir.Int(0), w.Chunks, func(c *ir.Var) {
		l.B.When(ir.At(h.leftOut, c), func() {
			in := e.Clone()
			in.Ranges = in.Ranges.With(f.Var, w.Chunk(c))
			in.Res.Zeroed = h.zeroed
			(&merge.Loop{F: f, E: in, Body: func(in *scope.Env, _ bool) ir.Expr {
				l.B.When(h.isLong(in), func() { l.Stmt(h.body, in, false) })
				return ir.Truth(true)
			}}).Loops()
		})
	})
	l.B.Free(h.leftOut)
}
