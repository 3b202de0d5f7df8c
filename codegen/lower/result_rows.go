package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// On a GPU, every coordinate of level 0 is a separate chunk in the two passes. The schedule decides
// which unit visits a chunk, and no unit needs to know what others append. Chunks that no loop
// visits, because an operand has no entries there, stay empty.

// rowChunks has the functions that open and close the chunks of a pass.
type rowChunks struct {
	lo      ir.Expr // the first coordinate of level 0
	open    func(c, lo ir.Expr)
	closeAt func(c, hi ir.Expr)
}

// byRows runs the statement twice, with a chunk for each coordinate of level 0.
func (a *twoPassResult) byRows(run func()) {
	l := a.l
	var lo, n ir.Expr
	if a.op.caps(0).CanLocate() {
		lo, n = a.op.offset(0), a.op.size(0)
	} else {
		s := l.rangeOf(&env{}, l.resultVars[0])
		lo, n = s.lo, ir.Minus(s.hi, s.lo)
	}
	n = l.named("rows", n)
	a.chunks(n, func(open func(c, lo ir.Expr), closeAt func(c, hi ir.Expr)) {
		a.rows = &rowChunks{lo, open, closeAt}
		run()
		a.rows = nil
	})
}

// row lowers the body for coordinate x of level 0 in its chunk.
func (a *twoPassResult) row(x ir.Expr, body func() ir.Expr) ir.Expr {
	c := a.l.named("row", ir.Minus(x, a.rows.lo))
	a.rows.open(c, x)
	some := body()
	a.rows.closeAt(c, ir.Plus(x, ir.Int(1)))
	return some
}

// rowsOf returns the assembly if f is the loop over a dense level 0 of a result whose rows are
// chunks. Otherwise it returns nil.
func (l *lowerer) rowsOf(f *cin.Forall) *twoPassResult {
	a, ok := l.assembly.(*twoPassResult)
	if !ok || a.rows == nil || f.Var != l.resultVars[0] || !a.op.caps(0).CanLocate() || !l.assigns(f) {
		return nil
	}
	return a
}

// loop appends the coordinates that f visits. Each coordinate of level 0 has its own chunk.
func (a *twoPassResult) loop(f *cin.Forall, e *env, k int, want bool) ir.Expr {
	if k > 0 || a.rows == nil {
		return a.growing.loop(f, e, k, want)
	}
	return a.l.loops(&loop{f: f, e: e, want: want, body: func(in *env) ir.Expr {
		return a.row(in.coord[f.Var], func() ir.Expr { return a.appendOne(f, in, 0) })
	}})
}

// closeRows closes the parents of all rows as if the rows were empty, if the first compressed level
// is below several dense levels. Rows that are not empty write their parents again.
func (t *passes) closeRows() {
	p, l := &t.levels[0], t.a.l
	if p.level < 2 {
		return
	}
	parents := t.a.between(1, p.level)
	l.spread(p.pos.Name+"_row", ir.Int(0), t.chunks, func(c ir.Expr) {
		end := l.named(p.pos.Name+"_end", p.at(ir.Plus(c, ir.Int(1))))
		first := l.named(p.pos.Name+"_first", ir.Times(c, parents))
		q := l.newVar(p.pos.Name + "_q")
		l.emit(&ir.For{V: q, Lo: first, Hi: ir.Plus(first, parents), Step: 1, Body: l.within(func() {
			l.store(p.pos, ir.Plus(q, ir.Int(1)), end)
		})})
	})
}
