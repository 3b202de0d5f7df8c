package merge

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/bounds"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/codegen/lower/units"
)

// Zero emits code that sets the values below the result's cursor to 0, unless they are 0 already or
// the leaf adds to them. It returns the environment after this code. It does nothing if a
// compressed level is below the cursor.
func Zero(e *scope.Env) *scope.Env {
	l := e.Leaf
	if e.Res.Zeroed || e.Res.Level <= l.Out.Deep {
		return e
	}
	l.B.When(e.Res.NeedsInit(), func() { fillBelow(e) })
	in := *e
	in.Res.Zeroed = true
	return &in
}

// fillBelow emits code that sets values below the result's cursor to 0. If the surrounding loops
// visit only a part of these values, such as a tile of a row, only this part is set to 0.
func fillBelow(e *scope.Env) {
	l := e.Leaf
	r := l.Out
	size := r.Block(e.Res.Level)
	lo := ir.Times(e.Res.Pos, size)
	hi := ir.Plus(lo, size)
	if k := e.Res.Level; k < r.Op.Order() {
		if s, ok := visited(e, l.ResultVars[k]); ok {
			row := func(c ir.Expr) ir.Expr {
				return ir.Times(ir.Plus(ir.Times(e.Res.Pos, r.Op.Size(k)), ir.Minus(c, r.Op.Offset(k))),
					r.Block(k+1))
			}
			lo, hi = row(s.Lo), row(s.Hi)
		} else if k == 0 && l.Threads != nil {
			units.ForEachShare(l, l.B.Named("values", size), func(from, to ir.Expr) {
				l.B.Emit(&ir.Fill{A: r.Values, Lo: ir.Plus(lo, from), Hi: ir.Plus(lo, to),
					X: ir.Zero(r.Values.Elem)})
			})
			return
		}
	}
	l.B.Emit(&ir.Fill{A: r.Values, Lo: lo, Hi: hi, X: ir.Zero(r.Values.Elem)})
}

// visited returns the part of v's range that the surrounding loops visit. It returns false if e has
// neither a range of v nor open loops of v's component. It also returns false if v is fused with
// other variables and has no range of its own in e.
func visited(e *scope.Env, v string) (tree.Range, bool) {
	if s, ok := e.Ranges.Get(v); ok {
		return s, ok
	}
	c := e.Leaf.Comps[v]
	if c == nil || len(c.Roots) > 1 || e.Open.At(c.Top) == nil {
		return tree.Range{}, false
	}
	o := e.Open.At(c.Top)
	iv := bounds.Coverage(o.Iv, o.Frames, e)
	return tree.Range{Lo: iv.Lo, Hi: iv.Hi}, true
}

// LoopsOverResult reports whether f must visit the result's next level in storage order, and
// returns the level. This is so if f assigns to the result, the level is not dense and the assembly
// writes in order.
func LoopsOverResult(f *cin.Forall, e *scope.Env) (level int, ok bool) {
	l := e.Leaf
	k := e.Res.Level
	if !l.Out.InOrder || k >= l.Out.Op.Order() || l.Out.Op.Kind(k).CanLocate() ||
		!l.Assigns(f) {
		return 0, false
	}
	if l.ResultVars[k] != f.Var {
		panic("BUG: lower: loop over " + f.Var + " where the result appends " + l.ResultVars[k])
	}
	return k, true
}

// BindResultAt moves the result's cursor for one iteration of f. The environment of the iteration
// already has the coordinate of f's variable and the operands' new cursors. If f does not assign to
// the result, BindResultAt does nothing.
func BindResultAt(f *cin.Forall, in *scope.Env) {
	l := in.Leaf
	if !l.Assigns(f) {
		return
	}
	if r, key := l.Out, l.Out.Pattern; key != "" && in.Res.Level <= r.Deep {
		v := l.ResultVars[r.Deep]
		if cur := in.Cur[key]; in.Coord.At(v) != nil && cur != nil && cur.Level > r.Deep {
			in.Res = r.At(r.PositionOf(cur))
		}
	}
	EnterResult(in)
}

// EnterResult moves the result's cursor through the dense levels whose variables are bound. If the
// result shares an operand's pattern, EnterResult does nothing until the cursor has passed the last
// compressed level.
func EnterResult(e *scope.Env) {
	l := e.Leaf
	op := l.Out.Op
	if l.Out.Pattern != "" && e.Res.Level <= l.Out.Deep {
		return
	}
	if c := &e.Res; c.Tile != nil {
		if v := l.ResultVars[c.Level]; c.Pos == nil && e.Coord.At(v) != nil {
			c.Pos = e.Lane(v)
		}
		return
	}
	for c := &e.Res; c.Level < op.Order() && op.Kind(c.Level).CanLocate(); {
		at, bound := e.Coord.Get(l.ResultVars[c.Level])
		if c.Base == nil {
			c.Base = ir.Minus(ir.Times(c.Pos, op.Size(c.Level)), op.Offset(c.Level))
			if !bound {
				c.Base = l.B.Named(op.Prefix()+"_b", c.Base)
				return
			}
		}
		if !bound {
			return
		}
		*c = scope.ResultCursor{Level: c.Level + 1, Pos: l.B.Named(op.Prefix()+"_p", ir.Plus(c.Base, at)),
			Zeroed: c.Zeroed, First: c.First, Here: c.Here}
	}
}

// bindResult moves the result's cursor to the coordinate of an iteration. iterEnv is the
// environment of the iteration. It has the cursor, and already has the coordinate of p's variable.
func (p *Loop) bindResult(iterEnv *scope.Env) {
	l := p.E.Leaf
	if !l.Assigns(p.F) {
		return
	}
	if r, key := l.Out, l.Out.Pattern; key != "" && iterEnv.Res.Level <= r.Deep &&
		l.ResultVars[r.Deep] == p.V() {
		for _, it := range p.Iters {
			if it.Key == key {
				iterEnv.Res = r.At(it.P)
			}
		}
	}
	EnterResult(iterEnv)
}

// Positions returns the range of positions of the given level below cursor c. If c has not entered
// a level yet, the range has the positions that the leaf visits. The range is smaller than the
// level if the leaf computes only a part of the statement.
func Positions(c *tree.Cursor, level int, e *scope.Env) (lo, hi ir.Expr) {
	op, k := c.Of, max(c.Level, 1)
	switch {
	case c.Level > 0 && c.End != nil:
		lo, hi = c.Pos, c.End
	case c.Level > 0:
		lo, hi = c.Pos, ir.Plus(c.Pos, ir.Int(1))
	case op.Kind(0).CanLocate():
		s := e.RangeOf(c.Vars[0])
		lo, hi = ir.Minus(s.Lo, op.Offset(0)), ir.Minus(s.Hi, op.Offset(0))
	default:
		lo, hi = c.Segment()
	}
	for ; k <= level; k++ {
		lo = e.Leaf.B.Named(op.Prefix()+"_s", op.Below(k, lo))
		hi = e.Leaf.B.Named(op.Prefix()+"_e", op.Below(k, hi))
	}
	return lo, hi
}
