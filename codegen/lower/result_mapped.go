package lower

import (
	"distaff/codegen/ir"
	"distaff/codegen/strategy"
)

// mappedResult is a result whose pattern is a union of patterns, among them an operand's. It
// has values of other leaves already, to which this one adds. The leaf does not read the
// result's level arrays: an array maps the operand's positions to the result's. Leaves that
// add to one result must run one after another, since the first that comes to a position
// sets its values.
type mappedResult struct {
	sharedResult
	positions *ir.Array
}

func newMappedResult(r *result) *mappedResult {
	l := r.l
	last := 0
	for _, o := range l.spec.Operands {
		last = max(last, o.Arg)
	}
	shared := newSharedResult(r)
	a := l.newArray(r.op.prefix()+"_at", intOf(r.op.operand.PosWidth[r.deep]))
	a.Const = true
	l.params = append(l.params, ir.Param{Slot: ir.Slot{Arg: last + 1, Level: 0, Field: ir.Crd}, A: a})
	return &mappedResult{*shared, a}
}

// at reads the map. A negative entry means that this leaf is the first that comes to the position:
// the values there are set to 0, or those of rows that go past the caches out of registers are
// stored in place of added to.
func (a *mappedResult) at(p ir.Expr) resultCursor {
	l, name := a.l, a.op.prefix()
	how := l.spec.Strategy
	if a.cleared || how.Nontemporal == "" || len(how.Tiles) == 0 {
		return resultCursor{level: a.deep + 1, pos: a.zeroed(p), zeroed: true}
	}
	a.prefetch(p, false)
	q := l.named(name+"_q", ir.Coord(a.positions, p))
	first := l.named(name+"_first", ir.Less(q, ir.Int(0)))
	return resultCursor{level: a.deep + 1,
		pos: l.named(name+"_p", ir.Choose(first, ir.Minus(ir.Int(-1), q), q)), first: first}
}

// zeroed is the position in the result of position p of the map, whose values are set to 0 where
// this leaf is the first that comes to it.
func (a *mappedResult) zeroed(p ir.Expr) ir.Expr {
	l, size := a.l, a.block(a.deep+1)
	a.prefetch(p, true)
	q := l.declare(a.op.prefix()+"_q", ir.Coord(a.positions, p))
	l.when(ir.Less(q, ir.Int(0)), func() {
		l.set(q, ir.Minus(ir.Int(-1), q))
		if !a.cleared {
			first := ir.Times(q, size)
			l.emit(&ir.Fill{A: a.vals(), Lo: first, Hi: ir.Plus(first, size), X: ir.Zero(a.vals().Elem)})
		}
	})
	return l.named(a.op.prefix()+"_p", q)
}

// clear sets the values to 0 that this leaf is the first to come to.
func (a *mappedResult) clear(lo, hi ir.Expr) {
	l := a.l
	if l.spec.GPU {
		l.spread(a.op.prefix()+"_p", lo, hi, func(p ir.Expr) { a.zeroed(p) })
		a.cleared = true
		return
	}
	p := l.newVar(a.op.prefix() + "_p")
	l.emit(&ir.For{V: p, Lo: lo, Hi: hi, Step: 1, Body: l.within(func() { a.zeroed(p) })})
	a.cleared = true
}

// prefetch fetches what the strategy says of the result's blocks ahead of position p of the map;
// those that this leaf is the first to come to where first says so: what is stored past the caches
// is not to be in them.
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
		q := l.named(a.op.prefix()+"_at"+c.name, ir.Coord(a.positions, ir.Plus(p, ir.Int(n))))
		fetch := func(q ir.Expr) {
			from := l.named(a.op.prefix()+c.name, ir.Times(q, size))
			l.emit(&ir.Prefetch{A: a.vals(), Index: from,
				Len: how.Lines * (strategy.CacheLine / a.vals().Elem.Size()), Far: c.far})
		}
		if first {
			fetch(ir.Choose(ir.Less(q, ir.Int(0)), ir.Minus(ir.Int(-1), q), q))
		} else {
			l.when(ir.AtMost(ir.Int(0), q), func() { fetch(q) })
		}
	}
}
