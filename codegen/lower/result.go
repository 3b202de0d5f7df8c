package lower

import (
	"fmt"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/tree"
)

// result has the data about the leaf's result that all assemblies share.
type result struct {
	l    *lowerer
	op   *tree.Operand
	deep int // the last compressed level, or -1 if there is none
	// values is the array that values are currently written to.
	values *ir.Array
}

// resultCursor says how far the bound variables lead down the result's levels.
type resultCursor struct {
	level int
	pos   ir.Expr
	base  ir.Expr // as in cursor
	// zeroed is true if the values below are already 0, or if the leaf adds to existing values.
	// Otherwise each value is written once, or the whole block below is first set to 0.
	zeroed bool
	// first, for values that are not zeroed, is the condition that they are written for the first
	// time. If it is false, the leaf adds to the existing values. nil means true.
	first ir.Expr
	// here and row are for a result with a fixed pattern. here is the condition that the pattern
	// has the current coordinates, or nil if it always has them. row is not nil if a value's
	// position is searched for when the value is stored: in the row that ends at row.
	here, row ir.Expr
	// tile, if it is not nil, is the array into which the row below is summed instead.
	tile *ir.Array
}

func (l *lowerer) newResult() *result {
	r := &result{l: l, op: l.ops[l.spec.Operands[0].Name], deep: -1}
	for k := range r.op.Order() {
		if r.op.Kind(k).HasPos() {
			r.deep = k
		}
	}
	return r
}

// sparse reports whether the result has compressed levels.
func (r *result) sparse() bool { return r.deep >= 0 }

// vals returns the array that the result's values are written to.
func (r *result) vals() *ir.Array { return r.values }

// writingTo calls run with arr as the array that the result's values are written to.
func (r *result) writingTo(arr *ir.Array, run func()) {
	outer := r.values
	r.values = arr
	run()
	r.values = outer
}

// between returns the number of positions of level hi-1 below one position of level lo-1. All
// levels from lo to hi-1 must be dense. If the result is sparse and the number exceeds
// emit.MaxPoints, it returns emit.MaxPoints. The leaf then fails, because the memory for so many
// positions is refused.
func (r *result) between(lo, hi int) ir.Expr {
	if r.sparse() && hi-lo > 1 {
		return r.l.b.OnceAtStart(fmt.Sprintf("%s_under%d_%d", r.op.Prefix(), lo, hi), func() ir.Expr {
			n := r.op.Size(lo)
			for k := lo + 1; k < hi; k++ {
				n = r.l.b.Named("values", emit.Capped(n, r.op.Size(k)))
			}
			return n
		})
	}
	n := ir.Expr(ir.Int(1))
	for k := lo; k < hi; k++ {
		n = ir.Times(n, r.op.Size(k))
	}
	return n
}

// block returns the number of values under one position of level lo-1. The levels from lo on must
// be dense.
func (r *result) block(lo int) ir.Expr { return r.between(lo, r.op.Order()) }

// nextSparse returns the first compressed level from k on, or -1.
func (r *result) nextSparse(k int) int {
	for ; k < r.op.Order(); k++ {
		if r.op.Kind(k).HasPos() {
			return k
		}
	}
	return -1
}

// positionOf returns the position of cur in the result's last compressed level. cur is a cursor of
// the operand that shares the result's pattern.
func (r *result) positionOf(cur *tree.Cursor) ir.Expr {
	if cur.Level != r.deep+1 {
		panic(
			&Refusal{Why: "the position of " + r.op.Argument.Name +
				" in the pattern that it shares is not known here", Pattern: true})
	}
	return cur.Pos
}

// prefixed reports whether f's variable is the variable of the result's level 0, so that chunks of
// f are blocks of the result.
func (r *result) prefixed(f *cin.Forall) bool {
	return r.op.Order() > 0 && r.l.resultVars[0] == f.Var
}

// publish emits code that gives n elements of an array to the caller.
func (r *result) publish(level int, part ir.Field, arr *ir.Array, n ir.Expr) {
	r.l.b.Emit(&ir.Publish{Slot: ir.Slot{Arg: 0, Level: level, Field: part}, A: arr, Len: n})
}

// zero emits code that sets the values below the result's cursor to 0, unless they are 0 already.
// It does nothing if a compressed level is below the cursor.
func (l *lowerer) zero(e *env) {
	r := l.out
	if e.res.zeroed || e.res.level <= r.deep {
		return
	}
	unset := e.res.unset()
	e.res.zeroed = true
	l.b.When(unset, func() { l.fillBelow(e) })
}

// unset returns the condition that the values below are neither 0 yet nor values that the leaf adds
// to.
func (c *resultCursor) unset() ir.Expr {
	switch {
	case c.zeroed:
		return ir.Truth(false)
	case c.first != nil:
		return c.first
	}
	return ir.Truth(true)
}

// fillBelow emits code that sets values below the result's cursor to 0: the values that the
// surrounding loops visit.
func (l *lowerer) fillBelow(e *env) {
	r := l.out
	size := r.block(e.res.level)
	lo := ir.Times(e.res.pos, size)
	hi := ir.Plus(lo, size)
	if k := e.res.level; k < r.op.Order() {
		if s, ok := l.visited(e, l.resultVars[k]); ok {
			row := func(c ir.Expr) ir.Expr {
				return ir.Times(ir.Plus(ir.Times(e.res.pos, r.op.Size(k)), ir.Minus(c, r.op.Offset(k))),
					r.block(k+1))
			}
			lo, hi = row(s.Lo), row(s.Hi)
		} else if k == 0 && l.threads != nil {
			l.forEachShare(l.b.Named("values", size), func(from, to ir.Expr) {
				l.b.Emit(&ir.Fill{A: r.vals(), Lo: ir.Plus(lo, from), Hi: ir.Plus(lo, to),
					X: ir.Zero(r.vals().Elem)})
			})
			return
		}
	}
	l.b.Emit(&ir.Fill{A: r.vals(), Lo: lo, Hi: hi, X: ir.Zero(r.vals().Elem)})
}

// visited returns the part of v's range that the surrounding loops visit. It returns false if they
// visit the whole range.
func (l *lowerer) visited(e *env, v string) (tree.Range, bool) {
	if s, ok := e.ranges.get(v); ok {
		return s, ok
	}
	c := l.sched.comps[v]
	if c == nil || len(c.component.Roots) > 1 || e.open.at(c.component.Top) == nil {
		return tree.Range{}, false
	}
	o := e.open.at(c.component.Top)
	iv := l.coverage(o.iv, o.frames, e)
	return tree.Range{Lo: iv.lo, Hi: iv.hi}, true
}
