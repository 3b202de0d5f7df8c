package lower

import "distaff/codegen/ir"

// locateDense enters a dense level at a coordinate.
func (l *lowerer) locateDense(c *cursor, at ir.Expr) *cursor {
	d := *c
	base := c.base
	if base == nil {
		base = l.denseBase(c)
	}
	d.pos = l.named(c.op.prefix()+"_p", ir.Plus(base, at))
	d.end, d.base = nil, nil
	d.level++
	return &d
}

// denseBase returns the number that is added to a coordinate of the next level, which is dense, to
// get its position.
func (l *lowerer) denseBase(c *cursor) ir.Expr {
	row, name := c.pos, c.op.prefix()+"_row"
	switch {
	case c.op.rowAt == nil || c.level != c.op.rowLevel || never(c.pres):
	case always(c.pres):
		row = l.named(name, c.op.rowAt(c.pos))
	default:
		at := l.declare(name, ir.Int(0))
		l.when(c.pres, func() { l.set(at, c.op.rowAt(c.pos)) })
		row = at
	}
	return ir.Minus(ir.Times(row, c.op.size(c.level)), c.op.offset(c.level))
}

// locateSearch enters a sparse level at a coordinate that is already bound, because the access has
// the variable more than once, as in B(i,i).
func (l *lowerer) locateSearch(c *cursor, at ir.Expr) *cursor {
	d := *c
	lo, hi := l.segment(c)
	crd := c.op.crd(c.level)
	name := c.op.prefix()
	here := func(p ir.Expr) ir.Expr { return ir.Coord(crd, p) }
	var p *ir.Var
	if c.op.caps(c.level).IsPadded() {
		p = l.declare(name+"_p", lo)
		l.while(ir.Both(ir.Less(p, hi), ir.Unequal(here(p), at)), func() { l.incr(p, ir.Int(1)) })
	} else {
		p = l.declare(name+"_p", &ir.Search{A: crd, Lo: lo, Hi: hi, Key: at})
	}
	d.pres = l.named(name+"_has", ir.Both(ir.Less(p, hi), ir.Equal(here(p), at)))
	d.pos, d.end, d.base = p, nil, nil
	if c.op.hasRepeats(c.level) {
		d.end = l.declare(name+"_e", &ir.Search{A: crd, Lo: p, Hi: hi, Key: at, Upper: true})
	}
	d.level++
	return &d
}

// segment returns the range of positions of the next level, which is sparse, below a cursor. It is
// empty if the cursor is absent.
func (l *lowerer) segment(c *cursor) (lo, hi ir.Expr) {
	op, k := c.op, c.level
	name := op.prefix()
	switch {
	case op.rootLen != nil && k == 0:
		lo, hi = ir.Int(0), op.rootLen
	case op.caps(k).HasPos():
		pos := op.pos(k)
		lo, hi = ir.Coord(pos, c.pos), ir.Coord(pos, ir.Plus(c.pos, ir.Int(1)))
	case c.end != nil:
		lo, hi = c.pos, c.end
	default:
		lo, hi = c.pos, ir.Plus(c.pos, ir.Int(1))
	}
	if always(c.pres) {
		return l.named(name+"_s", lo), l.named(name+"_e", hi)
	}
	vlo, vhi := l.declare(name+"_s", ir.Int(0)), l.declare(name+"_e", ir.Int(0))
	l.when(c.pres, func() {
		l.set(vlo, lo)
		l.set(vhi, hi)
	})
	return vlo, vhi
}
