package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// mergeRows lowers the loop over the last level of a fixed pattern if it sums the entries of
// several rows. The loop then walks the result's row instead of merging the operands' rows (see
// followsResult). mergeRows returns false if the loop is another one. If some rows are empty, which
// is known only at run time, they are merged like in any other result.
func (a *fixedResult) mergeRows(p *loop, end ir.Expr) bool {
	l := a.l
	its := p.subset(p.lat.All())
	if len(p.lat.Points) == 0 || p.lat.Points[0].Iters != p.lat.All() || !l.followsResult(p, its) {
		return false
	}
	var full []ir.Expr
	for _, it := range its {
		full = append(full, ir.Less(it.lo, it.hi))
	}
	merged := *p
	merged.merge = nil
	s := &ir.If{Cond: ir.Both(full...), Then: l.within(func() { a.walkRow(p, its, end) })}
	s.Else = l.within(func() { l.mergeLoops(&merged) })
	l.emit(s)
	return true
}

// followsResult reports whether a loop's body is a sum that can be computed at each coordinate of
// the result, whatever operands are present (see canPredicateTerms). A sum of integers must not
// have a division.
func (l *lowerer) followsResult(p *loop, its []*iter) bool {
	t := l.spec.Compute
	if s, ok := p.f.Body.(*cin.Assign); !ok || !t.IsFloat() && (!t.IsInt() || hasQuotient(s.RHS)) {
		return false
	}
	return l.canPredicateTerms(p, its, p.lat.Under(p.lat.Points[0]), func(c *cursor) bool {
		k := c.level
		for ; k < c.op.order() && c.vars[k] == p.v() && c.op.caps(k).CanLocate(); k++ {
		}
		return k == c.op.order()
	})
}

// walkRow visits the coordinates of a row of the result that ends at end. The operands' rows that
// have the coordinate advance. A row stays at its last entry, whose coordinate does not occur
// again, so no load and no branch depends on the end of a row. At the end, the number of entries
// found must equal the number of entries in the rows.
func (a *fixedResult) walkRow(p *loop, its []*iter, end ir.Expr) {
	l := a.l
	_, crd := a.arrays(a.deep)
	found, last := make([]*ir.Var, len(its)), make([]ir.Expr, len(its))
	for k, it := range its {
		l.start(it)
		found[k] = l.declare(it.name()+"_found", it.lo)
		last[k] = l.named(it.name()+"_last", ir.Minus(it.hi, ir.Int(1)))
	}
	none := ir.NewVar(l.fresh("none"), l.spec.Compute)
	if none.Typ.IsFloat() {
		l.emit(&ir.Declare{V: none, Init: &ir.Lit{Typ: none.Typ, C: complex(negativeZero, 0)}})
	}
	o := l.newVar(a.op.prefix() + "_p")
	l.emit(&ir.For{V: o, Lo: a.done, Hi: end, Step: 1, Body: l.within(func() {
		c := l.declare(p.v(), ir.Coord(crd, o))
		cursors, picks := map[string]*cursor{}, map[string]ir.Expr{}
		any := ir.Expr(ir.Truth(false))
		for _, it := range its {
			here := l.named(it.name()+"_at", ir.Equal(it.at(it.p), c))
			cursors[it.key], picks[it.key] = it.enter(ir.Truth(true)), here
			any = ir.Either(any, here)
		}
		in := l.bind(p.e, p.f.Body, p.v(), c, cursors)
		in.predicates = picks
		x := l.predicatedSum(p.f.Body.(*cin.Assign).RHS, in, false)
		if none.Typ.IsFloat() { // without terms the sum may be -0
			x = ir.Plus(x, ir.Choose(any, none, ir.Zero(none.Typ)))
		}
		l.store(a.vals(), o, ir.Convert(a.vals().Elem, x))
		for k, it := range its {
			l.incr(it.p, ir.Choose(ir.Both(picks[it.key], ir.Less(it.p, last[k])), ir.Int(1), ir.Int(0)))
			l.incr(found[k], ir.Choose(picks[it.key], ir.Int(1), ir.Int(0)))
		}
	})})
	for k, it := range its {
		l.when(ir.Less(found[k], it.hi), func() {
			in := p.e.clone()
			in.coord[p.v()] = l.declare(p.v(), it.at(found[k]))
			l.failUnless(ir.Truth(false), in)
		})
	}
	l.when(ir.Less(a.done, end), func() { l.set(a.done, end) })
}
