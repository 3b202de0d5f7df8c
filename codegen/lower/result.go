package lower

import (
	"fmt"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// result is what all assemblies know of the leaf's result.
type result struct {
	l    *lowerer
	op   *operand
	deep int // the last compressed level; -1 for none
	// values is the array that values are written to at present.
	values *ir.Array
}

// resultCursor is how far the bound variables lead down the result's levels.
type resultCursor struct {
	level int
	pos   ir.Expr
	base  ir.Expr // as in cursor
	// zeroed: the values below are 0 already, or those that the leaf adds to. Otherwise each is
	// written once, or the whole block below is set to 0 where that is not so.
	zeroed bool
	// first, if not nil, tells of values that are not zeroed whether these are to be written as said.
	// Otherwise the leaf adds to them.
	first ir.Expr
	// Of a result with a fixed pattern: here tells whether the pattern holds the
	// coordinates at hand; it is nil where the pattern does in any case. row, if not nil, is
	// the end of the row in which a value's position is found when the value is stored.
	here, row ir.Expr
	// tile, if not nil, is where the row below is summed instead.
	tile *ir.Array
}

func (l *lowerer) newResult() *result {
	r := &result{l: l, op: l.ops[l.spec.Operands[0].Name], deep: -1}
	for k := range r.op.order() {
		if r.op.caps(k).HasPos {
			r.deep = k
		}
	}
	return r
}

// sparse tells whether the result has compressed levels.
func (r *result) sparse() bool { return r.deep >= 0 }

// vals is where the result's values are written.
func (r *result) vals() *ir.Array { return r.values }

// writingTo runs what writes the result's values to another array.
func (r *result) writingTo(arr *ir.Array, run func()) {
	outer := r.values
	r.values = arr
	run()
	r.values = outer
}

// between is the number of positions of level hi-1 under one of level lo-1,
// all levels between being dense. Of a sparse result it is maxPoints where there are more, so that
// memory for them is refused.
func (r *result) between(lo, hi int) ir.Expr {
	if r.sparse() && hi-lo > 1 {
		return r.l.onceBefore(fmt.Sprintf("%s_under%d_%d", r.op.prefix(), lo, hi), func() ir.Expr {
			n := r.op.size(lo)
			for k := lo + 1; k < hi; k++ {
				n = r.l.named("values", capped(n, r.op.size(k)))
			}
			return n
		})
	}
	n := ir.Expr(ir.Int(1))
	for k := lo; k < hi; k++ {
		n = ir.Times(n, r.op.size(k))
	}
	return n
}

// block is the number of values under one position of level lo-1, the levels
// from lo on being dense.
func (r *result) block(lo int) ir.Expr { return r.between(lo, r.op.order()) }

// nextSparse is the first compressed level from k on, or -1.
func (r *result) nextSparse(k int) int {
	for ; k < r.op.order(); k++ {
		if r.op.caps(k).HasPos {
			return k
		}
	}
	return -1
}

// positionOf is the position of the result's last compressed level that a
// cursor of the operand with its pattern stands at.
func (r *result) positionOf(cur *cursor) ir.Expr {
	if cur.level != r.deep+1 {
		panic(
			&Refusal{Why: "the position of " + r.op.operand.Name +
				" in the pattern that it shares is not known here", Pattern: true})
	}
	return cur.pos
}

// prefixed tells whether f's variable is that of the result's level 0, so that
// chunks of it are blocks of the result.
func (r *result) prefixed(f *cin.Forall) bool {
	return r.op.order() > 0 && r.l.resultVars[0] == f.Var
}

// publish hands n elements of an array to the caller.
func (r *result) publish(level int, part ir.Field, arr *ir.Array, n ir.Expr) {
	r.l.emit(&ir.Publish{Slot: ir.Slot{Arg: 0, Level: level, Field: part}, A: arr, Len: n})
}

// assigns tells whether a statement's target is the result.
func (l *lowerer) assigns(s cin.Stmt) bool { return cin.Target(s).Name == l.out.op.operand.Name }

// zero makes sure that the values below the result's cursor are 0, where no
// compressed level is left below it.
func (l *lowerer) zero(e *env) {
	r := l.out
	if e.res.zeroed || e.res.level <= r.deep {
		return
	}
	unset := e.res.unset()
	e.res.zeroed = true
	l.when(unset, func() { l.fillBelow(e) })
}

// unset tells whether the values below are not 0 yet, and none that the leaf adds to.
func (c *resultCursor) unset() ir.Expr {
	switch {
	case c.zeroed:
		return ir.Truth(false)
	case c.first != nil:
		return c.first
	}
	return ir.Truth(true)
}

// fillBelow sets the values below the result's cursor to 0 that the loops around leave to visit.
func (l *lowerer) fillBelow(e *env) {
	r := l.out
	size := r.block(e.res.level)
	lo := ir.Times(e.res.pos, size)
	hi := ir.Plus(lo, size)
	if k := e.res.level; k < r.op.order() {
		if s, ok := l.visited(e, l.resultVars[k]); ok {
			row := func(c ir.Expr) ir.Expr {
				return ir.Times(ir.Plus(ir.Times(e.res.pos, r.op.size(k)), ir.Minus(c, r.op.offset(k))),
					r.block(k+1))
			}
			lo, hi = row(s.lo), row(s.hi)
		} else if k == 0 && l.threads != nil {
			l.shares(l.named("values", size), func(from, to ir.Expr) {
				l.emit(&ir.Fill{A: r.vals(), Lo: ir.Plus(lo, from), Hi: ir.Plus(lo, to),
					X: ir.Zero(r.vals().Elem)})
			})
			return
		}
	}
	l.emit(&ir.Fill{A: r.vals(), Lo: lo, Hi: hi, X: ir.Zero(r.vals().Elem)})
}

// visited is the part of v's range that the loops around leave to visit, where
// that is not all of it.
func (l *lowerer) visited(e *env, v string) (coordRange, bool) {
	if s, ok := e.ranges[v]; ok {
		return s, ok
	}
	c := l.sched.comps[v]
	if c == nil || len(c.component.Roots) > 1 || e.open[c.component.Top] == nil {
		return coordRange{}, false
	}
	o := e.open[c.component.Top]
	iv := l.coverage(o.iv, o.frames, e)
	return coordRange{lo: iv.lo, hi: iv.hi}, true
}
