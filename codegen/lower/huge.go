package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// A row of a parallel loop with more than Spec.LongRow entries is itself cut
// into chunks, so that a matrix with all its work in a few rows keeps every
// thread busy. That number is fixed, and so is that of those chunks, since sums
// cross them: hugeParts where the sum is a row, else sumChunks. A result that
// shares an operand's pattern has no sums along it: any chunks do.
const hugeParts = 16

// huge leaves long rows out of a parallel loop, and runs them afterwards, one
// after another, each on all threads.
type huge struct {
	l    *lowerer
	key  string    // of the access whose rows may be long
	body cin.Stmt  // the loop's body, with the loop over the row on threads
	seen *ir.Array // by chunk: whether it has left a row out
	// zeroed: the chunks have set the result to 0 before they wrote to it.
	zeroed bool
}

// newHuge makes a huge for a loop whose body sums the segment of a sparse level
// into a scalar or a row of a dense result, or writes to the positions of a
// pattern that the result shares; nil for another.
func (l *lowerer) newHuge(f *cin.Forall, w *work) *huge {
	if w.driver == nil || w.driver.op.NNZ >= 0 && w.driver.op.NNZ < l.spec.LongRow {
		return nil
	}
	h := &huge{l: l, key: w.key}
	var inner *cin.Forall
	switch s := f.Body.(type) {
	case *cin.Where:
		if len(cin.Target(s.Producer).Vars) == 0 && !l.out.sparse() {
			if p, ok := s.Producer.(*cin.Forall); ok {
				inner = p
				h.body = &cin.Where{Consumer: s.Consumer, Producer: onThreads(p)}
			}
		}
	case *cin.Forall:
		if l.sums(s) != l.out.sparse() {
			inner = s
			h.body = onThreads(s)
		}
	}
	op := w.driver.op
	if inner == nil || op.order() < 2 || w.driver.level != 0 || w.driver.vars[1] != inner.Var || !op.caps(1).HasPos || !op.caps(0).Unique {
		return nil
	}
	return h
}

func onThreads(f *cin.Forall) *cin.Forall {
	return &cin.Forall{Var: f.Var, Unit: cin.CPUThread, Body: f.Body}
}

// long tells whether the row at hand is long.
func (h *huge) long(in *env) ir.Expr {
	c := in.cur[h.key]
	if c.level != 1 || never(c.pres) {
		return ir.Truth(false)
	}
	pos := c.op.pos(1)
	return ir.Both(c.pres, ir.Greater(ir.Minus(ir.Coord(pos, ir.Plus(c.pos, ir.Int(1))), ir.Coord(pos, c.pos)), ir.Int(h.l.spec.LongRow)))
}

// loop lowers a chunk's loop without the long rows.
func (h *huge) loop(f *cin.Forall, e *env, chunk ir.Expr) ir.Expr {
	l := h.l
	defer func() { h.zeroed = e.res.zeroed }()
	return l.loops(&loop{f: f, e: e, body: func(in *env) ir.Expr {
		long := h.long(in)
		some := ir.Expr(ir.Truth(false))
		body := l.within(func() { some = l.stmt(f.Body, in, false) })
		switch {
		case never(long):
			l.blk.List = append(l.blk.List, body.List...)
		default:
			leave := l.within(func() { l.store(h.seen, chunk, ir.Truth(true)) })
			l.emit(&ir.If{Cond: long, Then: leave, Else: body})
		}
		return some
	}})
}

// rest lowers the long rows of all chunks.
func (h *huge) rest(f *cin.Forall, e *env, w *work) {
	l := h.l
	c := l.newVar("chunk")
	l.emit(&ir.For{V: c, Lo: ir.Int(0), Hi: w.chunks, Step: 1, Body: l.within(func() {
		l.when(ir.At(h.seen, c), func() {
			in := e.clone()
			in.ranges[f.Var] = w.chunk(f.Var, c)
			in.res.zeroed = h.zeroed
			parts := l.rowParts
			l.rowParts = hugeParts
			l.loops(&loop{f: f, e: in, body: func(in *env) ir.Expr {
				l.when(h.long(in), func() { l.stmt(h.body, in, false) })
				return ir.Truth(true)
			}})
			l.rowParts = parts
		})
	})})
	l.emit(&ir.Free{A: h.seen})
}
