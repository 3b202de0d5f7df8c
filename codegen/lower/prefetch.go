package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/strategy"
)

// prefetch emits, at the head of a loop over a sparse operand's entries, the
// prefetching of the rows that a later iteration reads.
func (l *lowerer) prefetch(p *loop, it *iter) {
	op := it.cur.op
	if op.Arg < 0 || it.cur.level != op.order()-1 || it.padded {
		return
	}
	var done []string
	fetch := map[int64][]func(next ir.Expr){} // by how far ahead
	var order []int64
	cin.Accesses(p.f.Body, func(a *cin.Access) {
		key := a.Key()
		c := p.e.cur[key]
		if c == nil || slices.Contains(done, key) || c.base == nil || !always(c.pres) {
			return
		}
		k := c.op.order() - 2
		if c.level != k || c.next() != p.v() || !c.op.caps(k+1).Locate || c.op.Arg < 0 {
			return
		}
		v := c.vars[k+1]
		if _, bound := p.e.coord[v]; bound || v == p.v() {
			return
		}
		how := l.spec.Strategy.Fetched(key, p.v())
		n := how.Ahead
		if n == 0 {
			return
		}
		done = append(done, key)
		s := l.rangeOf(p.e, v)
		line := strategy.CacheLine / c.op.Type.Size()
		width := how.Lines * line
		if s.width > 0 {
			width = min(width, s.width)
		}
		if fetch[n] == nil {
			order = append(order, n)
		}
		fetch[n] = append(fetch[n], func(next ir.Expr) {
			row := ir.Minus(ir.Times(ir.Plus(c.base, next), c.op.size(k+1)), c.op.offset(k+1))
			start := l.named(c.op.prefix()+"_next", ir.Plus(row, s.lo))
			for x := int64(0); x < width; x += line {
				l.emit(&ir.Prefetch{A: c.op.vals(), Index: ir.Plus(start, ir.Int(x))})
			}
		})
	})
	for _, n := range order {
		ahead := ir.Plus(it.p, ir.Int(n))
		l.when(ir.Less(ahead, op.end()), func() {
			next := l.named(p.v()+"_next", it.at(ahead))
			for _, f := range fetch[n] {
				f(next)
			}
		})
	}
}
