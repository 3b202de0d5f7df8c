package result

import (
	"distaff/codegen/ir"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/codegen/lower/units"
	"distaff/codegen/strategy"
)

// mappedResult is a result whose pattern is a union of patterns, including an operand's pattern.
// The result may already have values of other leaves. This leaf then adds to these values. The leaf
// does not read the result's level arrays. Instead an array maps the operand's positions to the
// result's positions. The first leaf that reaches a position sets its values, and later leaves add
// to these values. Leaves that add to the same result must therefore run one after another.
type mappedResult struct {
	sharedResult
	positions *ir.Array
}

func newMappedResult(r *scope.Result) *mappedResult {
	l := r.Leaf
	last := 0
	for _, o := range l.Spec.Operands {
		last = max(last, o.Number)
	}
	shared := newSharedResult(r)
	a := l.B.Array(r.Op.Prefix()+"_at", tree.IntOf(r.Op.Argument.PosWidth[r.Deep]))
	a.Const = true
	l.Args.Params = append(l.Args.Params, ir.Param{Slot: ir.Slot{Arg: last + 1, Level: 0,
		Field: ir.Crd}, A: a})
	m := &mappedResult{*shared, a}
	r.At = m.at
	return m
}

// at returns the cursor of the result at the position that belongs to position p of the operand. It
// emits code that looks up this position in the map. A negative entry of the map means that this
// leaf is the first at the position. The code then sets the values at the position to 0.
//
// There are two exceptions. Values are not set to 0 if all values were cleared before the loops.
// They are also not set to 0 if rows are summed in registers and written with non-temporal stores:
// the first leaf stores such a row, and later leaves add to the row.
func (a *mappedResult) at(p ir.Expr) scope.ResultCursor {
	l, name := a.out.Leaf, a.out.Op.Prefix()
	how := l.Spec.Strategy
	if a.cleared || !how.Nontemporal || len(how.Tiles) == 0 {
		return scope.ResultCursor{Level: a.out.Deep + 1, Pos: a.zeroed(p), Zeroed: true}
	}
	a.prefetch(p, false)
	q := l.B.Named(name+"_q", ir.Coord(a.positions, p))
	first := l.B.Named(name+"_first", ir.Less(q, ir.Int(0)))
	return scope.ResultCursor{Level: a.out.Deep + 1,
		Pos: l.B.Named(name+"_p", ir.Choose(first, ir.Minus(ir.Int(-1), q), q)), First: first}
}

// zeroed returns the position in the result for position p of the map. If the values were not
// cleared before the loops, zeroed also emits code that sets the values at this position to 0 if
// this leaf is the first there.
func (a *mappedResult) zeroed(p ir.Expr) ir.Expr {
	l, size := a.out.Leaf, a.out.Block(a.out.Deep+1)
	a.prefetch(p, true)
	q := l.B.Declare(a.out.Op.Prefix()+"_q", ir.Coord(a.positions, p))
	l.B.When(ir.Less(q, ir.Int(0)), func() {
		l.B.Set(q, ir.Minus(ir.Int(-1), q))
		if !a.cleared {
			first := ir.Times(q, size)
			l.B.Emit(&ir.Fill{A: a.out.Values, Lo: first, Hi: ir.Plus(first, size),
				X: ir.Zero(a.out.Values.Elem)})
		}
	})
	return l.B.Named(a.out.Op.Prefix()+"_p", q)
}

// clear emits code that goes over the positions [lo, hi) and sets the values to 0 at each position
// that no leaf has written yet.
func (a *mappedResult) clear(lo, hi ir.Expr) {
	l := a.out.Leaf
	if l.Spec.GPU {
		units.Spread(l, a.out.Op.Prefix()+"_p", lo, hi, func(p ir.Expr) { a.zeroed(p) })
		a.cleared = true
		return
	}
	l.B.Loop(a.out.Op.Prefix()+"_p", lo, hi, func(p *ir.Var) { a.zeroed(p) })
	a.cleared = true
}

// prefetch emits code that prefetches blocks of the result, which the loop needs after position p
// of the map. The strategy says how many positions ahead. If first is false, the code leaves out
// blocks that no leaf has written yet. This leaf writes such blocks with stores that bypass the
// caches, so they should not be in a cache.
func (a *mappedResult) prefetch(p ir.Expr, first bool) {
	l, size := a.out.Leaf, a.out.Block(a.out.Deep+1)
	how := l.Spec.Strategy.Result.Fetched
	if how.Lines == 0 {
		return
	}
	for _, c := range merge.Caches {
		n := how.Into(c.Far)
		if n == 0 {
			continue
		}
		q := l.B.Named(a.out.Op.Prefix()+"_at"+c.Name, ir.Coord(a.positions, ir.Plus(p, ir.Int(n))))
		fetch := func(q ir.Expr) {
			from := l.B.Named(a.out.Op.Prefix()+c.Name, ir.Times(q, size))
			l.B.Emit(&ir.Prefetch{A: a.out.Values, Index: from,
				Len: how.Lines * (strategy.CacheLine / a.out.Values.Elem.Size()), Far: c.Far})
		}
		if first {
			fetch(ir.Choose(ir.Less(q, ir.Int(0)), ir.Minus(ir.Int(-1), q), q))
		} else {
			l.B.When(ir.AtMost(ir.Int(0), q), func() { fetch(q) })
		}
	}
}
