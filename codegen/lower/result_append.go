package lower

import (
	"fmt"

	"distaff/codegen/ir"
)

// appendResult appends coordinates and values to arrays that grow. On one thread these are
// the result; the chunks of a parallel loop have arrays of their own each
// (ordered_chunks.go, joined_chunks.go), which are joined in order.
type appendResult struct{ growing }

// whole appends to arrays of its own, unless parallel loops make the result.
func (a *appendResult) whole(parallel bool, run func()) {
	if parallel {
		run()
		return
	}
	a.open(a.initialCapacity(), nil, ir.Int(0))
	run()
	a.publishAll()
}

// open makes empty arrays with capacity for so many entries. pos, if not
// nil, is the array of the outermost compressed level's positions, of which
// those behind first are written.
func (a *appendResult) open(entries ir.Expr, pos *ir.Array, first ir.Expr) {
	a.use(a.newArrays())
	a.alloc(entries)
	a.begin(pos, first)
}

// growingArrays are the arrays of a chunk, or of the whole result.
type growingArrays struct {
	levels []growingLevel
	vals   *ir.Array
}

// newArrays names arrays, but for the outermost compressed level's positions.
func (a *appendResult) newArrays() *growingArrays {
	l, op := a.l, a.op
	b := &growingArrays{levels: make([]growingLevel, op.order())}
	b.vals = l.newArray(op.prefix()+"_vals", op.operand.Type)
	outermost := true
	for k := range b.levels {
		if !op.caps(k).HasPos {
			continue
		}
		b.levels[k].crd = l.newArray(fmt.Sprintf("%s_crd%d", op.prefix(), k),
			intOf(op.operand.CrdWidth[k]))
		if !outermost {
			b.levels[k].pos = a.newPos(k)
		}
		outermost = false
	}
	return b
}

// use makes the arrays those that are appended to.
func (a *appendResult) use(b *growingArrays) { a.levels, a.values = b.levels, b.vals }

// alloc allocates the arrays at hand with capacity for so many entries.
func (a *appendResult) alloc(entries ir.Expr) {
	l := a.l
	entries = l.named("estimate", entries)
	alloc := func(arr *ir.Array, n ir.Expr) *ir.Var {
		have := l.declare(arr.Name+"_cap", n)
		l.emit(&ir.Alloc{A: arr, Len: have})
		return have
	}
	a.valsCap = alloc(a.values, entries)
	for k := range a.levels {
		lev := &a.levels[k]
		if lev.crd == nil {
			continue
		}
		lev.crdCap = alloc(lev.crd, entries)
		if lev.pos != nil {
			lev.posCap = alloc(lev.pos, ir.Plus(entries, ir.Int(1)))
		}
	}
}

// begin starts filling the arrays; pos and first as in open.
func (a *appendResult) begin(pos *ir.Array, first ir.Expr) {
	l, op := a.l, a.op
	above := -1 // the last compressed level before k
	for k := range a.levels {
		lev := &a.levels[k]
		if lev.crd == nil {
			continue
		}
		lev.count = l.declare(fmt.Sprintf("%s_n%d", op.prefix(), k), ir.Int(0))
		switch {
		case above >= 0:
			l.store(lev.pos, ir.Int(0), ir.Int(0))
		case pos != nil:
			lev.pos = pos
		default:
			lev.pos = a.newPos(k)
			l.emit(&ir.Alloc{A: lev.pos, Len: ir.Plus(a.between(0, k), ir.Int(1))})
			l.store(lev.pos, ir.Int(0), ir.Int(0))
		}
		switch {
		case above < 0:
			lev.closed = l.declare(fmt.Sprintf("%s_last%d", op.prefix(), k), first)
		case above != k-1:
			lev.closed = l.declare(fmt.Sprintf("%s_last%d", op.prefix(), k), ir.Int(0))
		}
		above = k
	}
}

func (r *result) newPos(k int) *ir.Array {
	return r.l.newArray(fmt.Sprintf("%s_pos%d", r.op.prefix(), k), intOf(r.op.operand.PosWidth[k]))
}

// publishAll hands the arrays to the caller: they are the whole result.
func (a *appendResult) publishAll() {
	l := a.l
	parents := ir.Expr(ir.Int(1)) // positions of the level above k
	for k := range a.levels {
		lev := &a.levels[k]
		if !a.op.caps(k).HasPos {
			parents = ir.Times(parents, a.op.size(k))
			continue
		}
		if lev.closed != nil {
			l.closePos(lev, ir.Plus(parents, ir.Int(1)))
		}
		a.publish(k, ir.Pos, lev.pos, ir.Plus(parents, ir.Int(1)))
		a.publish(k, ir.Crd, lev.crd, lev.count)
		parents = lev.count
	}
	a.publish(0, ir.Vals, a.values, parents)
}
