package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/strategy"
)

// longDenseRows handles the rows of a dense result, or of a shared pattern, that have too many
// entries for one thread. The parallel loop leaves them out. They are computed after the loop, one
// after another, each on all threads.
type longDenseRows struct {
	l       *lowerer
	long    strategy.Long
	body    cin.Stmt  // the loop's body, with the loop along the row on threads
	leftOut *ir.Array // by chunk: whether it left a row out
	// zeroed is true if the chunks set the result to 0 before they write values.
	zeroed bool
}

// newLongDenseRows returns the state for the long rows of the parallel loop f. The body of f must
// sum the segment of a sparse level into a scalar or into a row of a dense result, or write to the
// positions of a pattern that the result shares.
func (l *lowerer) newLongDenseRows(f *cin.Forall, w *work, long strategy.Long) *longDenseRows {
	h := &longDenseRows{l: l, long: long}
	parted := func(s cin.Stmt) *cin.Forall {
		p, ok := s.(*cin.Forall)
		if !ok || w.key != long.Key {
			panic("BUG: lower: the loop over " + f.Var + " has no loop along the rows of " + long.Key)
		}
		g := &cin.Forall{Var: p.Var, Unit: cin.CPUThread, Body: p.Body}
		l.copies[g] = l.source(p)
		l.cuts[g] = long.Parts
		return g
	}
	if s, ok := f.Body.(*cin.Where); ok {
		h.body = &cin.Where{Consumer: s.Consumer, Producer: parted(s.Producer)}
	} else {
		h.body = parted(f.Body)
	}
	return h
}

// isLong returns the condition that the row of environment in is long.
func (h *longDenseRows) isLong(in *env) ir.Expr {
	c := in.cur[h.long.Key]
	if c.Level != 1 || ir.Never(c.Present) {
		return ir.Truth(false)
	}
	pos := c.Of.Pos(1)
	return ir.Both(c.Present, ir.Greater(
		ir.Minus(ir.Coord(pos, ir.Plus(c.Pos, ir.Int(1))), ir.Coord(pos, c.Pos)), ir.Int(h.long.N)))
}

// loop lowers the loop of one chunk, which leaves out the long rows.
func (h *longDenseRows) loop(f *cin.Forall, e *env, chunk ir.Expr) ir.Expr {
	l := h.l
	defer func() { h.zeroed = e.res.zeroed }()
	return (&loop{l: l, f: f, e: e, body: func(in *env) ir.Expr {
		long := h.isLong(in)
		some := ir.Expr(ir.Truth(false))
		body := l.b.Within(func() { some = l.stmt(f.Body, in, false) })
		switch {
		case ir.Never(long):
			l.b.Append(body)
		default:
			leave := l.b.Within(func() { l.b.Store(h.leftOut, chunk, ir.Truth(true)) })
			l.b.Emit(&ir.If{Cond: long, Then: leave, Else: body})
		}
		return some
	}}).loops()
}

// lowerLong emits the code that computes the rows that the chunks left out.
func (h *longDenseRows) lowerLong(f *cin.Forall, e *env, w *work) {
	l := h.l
	c := l.b.Var("chunk")
	l.b.Emit(&ir.For{V: c, Lo: ir.Int(0), Hi: w.chunks, Step: 1, Body: l.b.Within(func() {
		l.b.When(ir.At(h.leftOut, c), func() {
			in := e.clone()
			in.ranges = in.ranges.with(f.Var, w.chunk(f.Var, c))
			in.res.zeroed = h.zeroed
			(&loop{l: l, f: f, e: in, body: func(in *env) ir.Expr {
				l.b.When(h.isLong(in), func() { l.stmt(h.body, in, false) })
				return ir.Truth(true)
			}}).loops()
		})
	})})
	l.b.Emit(&ir.Free{A: h.leftOut})
}
