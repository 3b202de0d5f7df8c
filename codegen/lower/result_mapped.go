package lower

import (
	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
)

// mappedResult is a result whose pattern is a union of patterns, including an operand's pattern. It
// may already have values of other leaves. This leaf then adds to these values. The leaf does not
// read the result's level arrays. Instead an array maps the operand's positions to the result's
// positions. Leaves that add to the same result must run one after another, because the first leaf
// at a position sets its values.
type mappedResult struct {
	sharedResult
	positions *ir.Array
}

func newMappedResult(r *result) *mappedResult {
	l := r.l
	last := 0
	for _, o := range l.spec.Operands {
		last = max(last, o.Number)
	}
	shared := newSharedResult(r)
	a := l.b.Array(r.op.Prefix()+"_at", tree.IntOf(r.op.Argument.PosWidth[r.deep]))
	a.Const = true
	l.args.Params = append(l.args.Params, ir.Param{Slot: ir.Slot{Arg: last + 1, Level: 0,
		Field: ir.Crd}, A: a})
	return &mappedResult{*shared, a}
}

// at reads the position in the result from the map. A negative entry means that this leaf is the
// first at the position, and sets the values there to 0. Rows that are summed in registers and
// stored past the caches are an exception: the first leaf stores them, and later leaves add to
// them.
func (a *mappedResult) at(p ir.Expr) resultCursor {
	l, name := a.l, a.op.Prefix()
	how := l.spec.Strategy
	if a.cleared || !how.Nontemporal || len(how.Tiles) == 0 {
		return resultCursor{level: a.deep + 1, pos: a.zeroed(p), zeroed: true}
	}
	a.prefetch(p, false)
	q := l.b.Named(name+"_q", ir.Coord(a.positions, p))
	first := l.b.Named(name+"_first", ir.Less(q, ir.Int(0)))
	return resultCursor{level: a.deep + 1,
		pos: l.b.Named(name+"_p", ir.Choose(first, ir.Minus(ir.Int(-1), q), q)), first: first}
}

// zeroed returns the position in the result for position p of the map. It emits code that sets the
// values there to 0 if this leaf is the first at the position.
func (a *mappedResult) zeroed(p ir.Expr) ir.Expr {
	l, size := a.l, a.block(a.deep+1)
	a.prefetch(p, true)
	q := l.b.Declare(a.op.Prefix()+"_q", ir.Coord(a.positions, p))
	l.b.When(ir.Less(q, ir.Int(0)), func() {
		l.b.Set(q, ir.Minus(ir.Int(-1), q))
		if !a.cleared {
			first := ir.Times(q, size)
			l.b.Emit(&ir.Fill{A: a.vals(), Lo: first, Hi: ir.Plus(first, size), X: ir.Zero(a.vals().Elem)})
		}
	})
	return l.b.Named(a.op.Prefix()+"_p", q)
}

// clear emits code that sets the values for which this leaf is the first to 0.
func (a *mappedResult) clear(lo, hi ir.Expr) {
	l := a.l
	if l.spec.GPU {
		l.spread(a.op.Prefix()+"_p", lo, hi, func(p ir.Expr) { a.zeroed(p) })
		a.cleared = true
		return
	}
	p := l.b.Var(a.op.Prefix() + "_p")
	l.b.Emit(&ir.For{V: p, Lo: lo, Hi: hi, Step: 1, Body: l.b.Within(func() { a.zeroed(p) })})
	a.cleared = true
}

// prefetch fetches the result's blocks ahead of position p of the map, as the strategy says. If
// first is false, it does not fetch blocks for which this leaf is the first, because they are
// stored past the caches and should not be cached.
func (a *mappedResult) prefetch(p ir.Expr, first bool) {
	l, size := a.l, a.block(a.deep+1)
	how := l.spec.Strategy.Result.Fetched
	if how.Lines == 0 {
		return
	}
	for _, c := range caches {
		n := how.Into(c.far)
		if n == 0 {
			continue
		}
		q := l.b.Named(a.op.Prefix()+"_at"+c.name, ir.Coord(a.positions, ir.Plus(p, ir.Int(n))))
		fetch := func(q ir.Expr) {
			from := l.b.Named(a.op.Prefix()+c.name, ir.Times(q, size))
			l.b.Emit(&ir.Prefetch{A: a.vals(), Index: from,
				Len: how.Lines * (strategy.CacheLine / a.vals().Elem.Size()), Far: c.far})
		}
		if first {
			fetch(ir.Choose(ir.Less(q, ir.Int(0)), ir.Minus(ir.Int(-1), q), q))
		} else {
			l.b.When(ir.AtMost(ir.Int(0), q), func() { fetch(q) })
		}
	}
}
