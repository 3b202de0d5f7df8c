package tree

import "distaff/codegen/ir"

// LocateDense returns the cursor that enters the next level, which is dense, at a coordinate.
func (c *Cursor) LocateDense(at ir.Expr) *Cursor {
	d := *c
	base := c.Base
	if base == nil {
		base = c.DenseBase()
	}
	d.Pos = c.Of.b.Named(c.Of.Prefix()+"_p", ir.Plus(base, at))
	d.End, d.Base = nil, nil
	d.Level++
	return &d
}

// DenseBase returns the base of the next level, which must be dense. The position of a coordinate
// in this level is the base plus the coordinate.
func (c *Cursor) DenseBase() ir.Expr {
	row, name := c.Pos, c.Of.Prefix()+"_row"
	switch {
	case c.Of.RowAt == nil || c.Level != c.Of.RowLevel || ir.IsFalse(c.Present):
	case ir.Always(c.Present):
		row = c.Of.b.Named(name, c.Of.RowAt(c.Pos))
	default:
		at := c.Of.b.Declare(name, ir.Int(0))
		c.Of.b.When(c.Present, func() { c.Of.b.Set(at, c.Of.RowAt(c.Pos)) })
		row = at
	}
	return ir.Minus(ir.Times(row, c.Of.Size(c.Level)), c.Of.Offset(c.Level))
}

// LocateSearch returns the cursor that enters the next level, which is sparse, at a coordinate that
// is already bound, for example at the second i of B(i,i).
func (c *Cursor) LocateSearch(at ir.Expr) *Cursor {
	d := *c
	lo, hi := c.Segment()
	crd := c.Of.Crd(c.Level)
	name := c.Of.Prefix()
	here := func(p ir.Expr) ir.Expr { return ir.Coord(crd, p) }
	var p *ir.Var
	if c.Of.Kind(c.Level).IsPadded() {
		p = c.Of.b.Declare(name+"_p", lo)
		c.Of.b.While(ir.Both(ir.Less(p, hi), ir.Unequal(here(p), at)),
			func() { c.Of.b.Incr(p, ir.Int(1)) })
	} else {
		p = c.Of.b.Declare(name+"_p", &ir.Search{A: crd, Lo: lo, Hi: hi, Key: at})
	}
	d.Present = c.Of.b.Named(name+"_has", ir.Both(ir.Less(p, hi), ir.Equal(here(p), at)))
	d.Pos, d.End, d.Base = p, nil, nil
	if c.Of.Argument.Format.HasRepeats(c.Level) {
		d.End = c.Of.b.Declare(name+"_e", &ir.Search{A: crd, Lo: p, Hi: hi, Key: at, Upper: true})
	}
	d.Level++
	return &d
}

// Segment returns the range of positions of the next level, which is sparse, below a cursor. It is
// empty if the cursor is absent.
func (c *Cursor) Segment() (lo, hi ir.Expr) {
	op, k := c.Of, c.Level
	name := op.Prefix()
	switch {
	case op.RootLen != nil && k == 0:
		lo, hi = ir.Int(0), op.RootLen
	case op.Kind(k).HasPos():
		pos := op.Pos(k)
		lo, hi = ir.Coord(pos, c.Pos), ir.Coord(pos, ir.Plus(c.Pos, ir.Int(1)))
	case c.End != nil:
		lo, hi = c.Pos, c.End
	default:
		lo, hi = c.Pos, ir.Plus(c.Pos, ir.Int(1))
	}
	if ir.Always(c.Present) {
		return c.Of.b.Named(name+"_s", lo), c.Of.b.Named(name+"_e", hi)
	}
	vlo, vhi := c.Of.b.Declare(name+"_s", ir.Int(0)), c.Of.b.Declare(name+"_e", ir.Int(0))
	c.Of.b.When(c.Present, func() {
		c.Of.b.Set(vlo, lo)
		c.Of.b.Set(vhi, hi)
	})
	return vlo, vhi
}

// WherePresent returns a named expression that is x if the cursor is present, and 0 otherwise. x is
// a number that is read from the cursor's tensor. name is the suffix of the expression's name.
func (c *Cursor) WherePresent(name string, x ir.Expr) ir.Expr {
	if ir.Always(c.Present) {
		return c.Of.b.Named(c.Of.Prefix()+name, x)
	}
	v := c.Of.b.Declare(c.Of.Prefix()+name, ir.Int(0))
	c.Of.b.When(c.Present, func() { c.Of.b.Set(v, x) })
	return v
}

// Below returns the position in level k where the children of position p of the level above begin.
func (o *Operand) Below(k int, p ir.Expr) ir.Expr {
	switch caps := o.Kind(k); {
	case caps.HasPos():
		return ir.Coord(o.Pos(k), p)
	case caps.CanLocate():
		return ir.Times(p, o.Size(k))
	}
	return p // one child for each
}

// DownTo returns a position in level to: the one where the descendants of position p of level k-1
// begin. If to is k-1, the result is p.
func (o *Operand) DownTo(k, to int, p ir.Expr) ir.Expr {
	for ; k <= to; k++ {
		p = o.Below(k, p)
	}
	return p
}

// Ancestors finds the path to position p through n levels of fused variables. The first of these
// levels is the cursor's next level. Ancestors returns one position for each level, outermost
// first. The last one is p.
//
// The emitted code makes one binary search for each compressed level except the first. ranges has
// the ranges of positions in which these searches look, as pairs of limits.
func (c *Cursor) Ancestors(ranges []ir.Expr, n int, p ir.Expr) []ir.Expr {
	at := make([]ir.Expr, n)
	at[n-1] = p
	for d := n - 1; d > 0; d-- {
		k := c.Level + d
		switch caps := c.Of.Kind(k); {
		case caps.HasPos():
			s := &ir.Search{A: c.Of.Pos(k), Lo: ranges[2*d-2],
				Hi: ir.Plus(ranges[2*d-1], ir.Int(1)), Key: at[d], Upper: true}
			at[d-1] = c.Of.b.Named(c.Of.Prefix()+"_row", ir.Minus(s, ir.Int(1)))
		case caps.CanLocate():
			at[d-1] = c.Of.b.Named(c.Of.Prefix()+"_row", ir.Over(at[d], c.Of.Size(k)))
		default:
			at[d-1] = at[d]
		}
	}
	return at
}

// CoordAt returns the coordinate at position q of a level below the cursor. d is the number of the
// level: 0 is the cursor's next level, 1 is the level below that, and so on. parent is the position
// in the level above it whose children include q.
func (c *Cursor) CoordAt(d int, parent, q ir.Expr) ir.Expr {
	k := c.Level + d
	if c.Of.Kind(k).CanLocate() {
		return ir.Plus(ir.Minus(q, ir.Times(parent, c.Of.Size(k))), c.Of.Offset(k))
	}
	return ir.Coord(c.Of.Crd(k), q)
}
